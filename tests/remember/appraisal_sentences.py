"""Sentences and the band of importance that a careful reader gives them: what to keep, what to know, what to let go."""

from __future__ import annotations

# Written before the rules and measured when they stood: 59 of 60. The one that failed was mended later.
HELD_OUT = """
high | Please use British spelling in everything you write for me.
high | Never push directly to the main branch.
high | From now on, answer in German unless I write in English.
high | No, the meeting is on Thursday, not on Tuesday.
high | I'd rather have short answers than long explanations.
high | My wife can't stand cilantro, so leave it out of recipes.
high | Don't ever email the client without showing me the draft first.
high | Actually, my surname is spelled with two n's.
high | You got that wrong: the invoice goes to the Berlin office.
high | Make sure every function has a type annotation.
middle | She prefers window seats on long flights.
high | Remember that I am allergic to penicillin.
high | Stop using emojis in commit messages.
high | All dates in reports have to be in ISO format.
high | I hate it when meetings start without an agenda.
high | That's not what I asked for; I wanted a table.
high | Only deploy on weekdays before noon.
middle | My favourite editor is Helix.
high | Keep in mind that grandma does not eat pork.
high | Do not touch the legacy billing module.
middle | We settled on PostgreSQL for the event store.
middle | The migration to Python 3.12 is complete.
middle | The outage was caused by an expired certificate.
middle | The grant proposal has to be submitted by March 15.
middle | Anna Petrova is the new head of procurement.
middle | The staging database listens on port 5433.
middle | Version 2.4.0 was shipped on Friday.
middle | The contract with Delta Freight runs until December 2027.
middle | Tom agreed to review the budget before the board meeting.
middle | The memory leak went away after we closed the file handles.
middle | Her flight lands at 18:40 in Lisbon.
middle | The patient takes 20 mg of atorvastatin in the evening.
middle | Our fiscal year starts in April.
middle | The API key rotates every 90 days.
middle | The team voted to drop support for Windows 7.
middle | Mr. Okafor lives at 14 Harbour Street in Bristol.
middle | The lease was signed yesterday.
middle | Root cause: two workers wrote to the same file.
middle | The wedding is on 6 June in Florence.
middle | The choir has 34 members.
low | Thanks a lot, that helps.
low | Let me check the logs first.
low | Hm, interesting.
low | It looks like it is going to rain today.
low | Good morning, how are you?
low | I am going to run the linter now.
low | The build seems a bit slower than usual.
low | Okay, sounds good.
low | Just had a coffee, back in five minutes.
low | Reading the configuration file.
low | Maybe the cache is stale, not sure.
low | lol that was funny
low | The traffic was bad this morning.
low | Now opening the second tab.
low | Let's see what happens.
low | There were a few people in the waiting room.
low | Searching for the function that parses the header.
low | See you later!
low | I think I saw a fox on the way home.
low | The office was quiet today.
"""

# The rules were read off these.
DEVELOPMENT = """
high | Always run the formatter before you commit.
high | You must never log passwords.
high | Please don't call me before ten in the morning.
high | Remember to water the ficus every Sunday.
high | No, actually the deadline is the 14th.
high | That's wrong, the capital is Canberra.
high | I meant the other Smith, the one from accounting.
high | I prefer tabs over spaces.
high | I like the dark theme better than the light one.
high | Marco hates olives.
high | She loves jazz and can't stand country music.
high | Use pytest instead of unittest in this repository.
high | Avoid global variables.
high | Don't add comments that repeat the code.
high | Whenever I say "ship it", merge and tag the release.
high | Every invoice must carry the order number.
high | Under no circumstances share the customer list.
high | In future, send the minutes to Priya as well.
high | Going forward, all tickets need an estimate.
high | You should always ask before deleting a file.
high | Correction: the dose is 5 mg, not 50 mg.
high | It's not Kathrin but Katrin.
high | You misunderstood me, I want the opposite.
high | My favorite colour is teal.
high | I don't want meetings on Fridays.
high | I want all prices in euros.
high | He would rather take the train than fly.
high | Call me Sam, not Samuel.
high | I'm not a fan of long emails.
high | Our policy is that two people review each change.
high | It is important that the tests run offline.
high | Never again order from that supplier.
high | We do not accept cash payments, and you must tell guests so.
high | Never give the dog chocolate.
high | Please keep the summaries under two hundred words.
high | For all charts, use the corporate palette.
high | My daughter doesn't like to be called in the evening.
high | Write all SQL keywords in upper case.
high | Be sure to cite the source for each claim.
high | Sorry, I mixed that up: the host is db2, not db1.
middle | We decided to use Kafka for the order events.
middle | The login bug was fixed by raising the session timeout.
middle | Release 3.1 was published this morning.
middle | The tax return is due on 31 July.
middle | Maria and Lee agreed on a price of 12,000 euros.
middle | The crash turned out to be a null pointer in the parser.
middle | The refactoring of the importer is done.
middle | The project's deadline is 1 October.
middle | We chose the blue tiles for the bathroom.
middle | The root cause was a race between two threads.
middle | All 412 tests pass since the last commit.
middle | The board approved the merger.
middle | Dr. Hansen is the cardiologist in Oslo.
middle | The server's address is 10.0.4.17.
middle | His phone number is 555 0143.
middle | The repository is at github.com/example/orchard.
middle | The function parse_header lives in net/http_parser.py.
middle | The company was founded in 1987 in Turin.
middle | Water boils at 100 degrees Celsius at sea level.
middle | The marathon is 42.195 kilometres long.
middle | Julia works as a nurse at St. Mary's Hospital.
middle | The rent is 950 euros a month.
middle | My sister lives in Osaka.
middle | The dog's name is Biscuit.
middle | The exam was postponed to 9 May.
middle | The board rejected the second proposal.
middle | The parcel was delivered on Monday.
middle | We signed the lease for the Lyon office.
middle | The new boiler has been installed.
middle | The vaccine trial was completed in June.
middle | The judge dismissed the case.
middle | The recipe needs 300 g of flour and two eggs.
middle | The webhook retries five times with backoff.
middle | Karim leads the payments team.
middle | The museum closes at six on Sundays.
middle | The library uses reference counting.
middle | The bug is caused by a wrong time zone.
middle | The thesis must be handed in by 30 June.
middle | The band will play in Prague on 3 November.
middle | The roof was repaired after the storm.
low | Thanks!
low | ok
low | Hello there.
low | Running the tests now.
low | Looks like the build is slow today.
low | Trying another approach.
low | Let me look at that file.
low | Hmm, not sure about this.
low | It seems that the sun is out.
low | I see.
low | Great, thank you very much.
low | Nice weather today.
low | I'm checking the logs.
low | Just looking around.
low | Maybe it will work tomorrow.
low | haha
low | Have a nice weekend!
low | Good night.
low | I'll take a look in a minute.
low | First I'll open the file, then I'll see.
low | We are still waiting for the page to load.
low | The bus was late again.
low | I had a sandwich for lunch.
low | That might be related.
low | Sure, no problem.
low | You're welcome.
low | Installing the dependencies.
low | Step 2: listing the files in the folder.
low | Perhaps we could try a different colour.
low | I noticed a bird on the window sill.
low | The coffee tastes a bit bitter today.
low | It appears to be working.
low | One moment please.
low | Got it.
low | I wonder what they are doing.
low | The meeting was a bit long.
low | Still thinking about it.
low | Probably nothing.
low | Let's try again.
low | The room smells of paint.
"""

# Written to lead the first rules astray: words that decide where they decide nothing, and orders without them.
# They gave 43 % of them their band; the rules were then widened by these.
ASTRAY = """
high | I need the weekly report as a PDF and not as slides.
high | Nothing goes to production without my approval.
high | Two spaces, no tabs.
high | Mushrooms are out of the question for my husband.
high | Wrong: the train leaves from platform 9.
high | You may never raise the thermostat above 21 degrees.
high | Speak to me in French.
high | My kids hate spicy food.
high | Let's agree that you ask me first before you book anything.
high | I can't eat gluten.
high | Ask before you spend more than 50 euros.
high | It would be better if you showed the diff before applying it.
high | Tests belong next to the code, please.
high | No more meetings before nine.
middle | The new accountant starts on Monday.
middle | My brother's birthday is 12 August.
middle | We are moving to Hamburg in the spring.
middle | The clinic moved to the second floor.
middle | Thread pools share one queue.
middle | I broke my left wrist in 2019.
middle | The insurance covers dental work.
middle | He always takes the 8:15 train to Leeds.
middle | The index never shrinks by itself.
middle | The warranty ends next March.
middle | Bees dance to tell where nectar is.
middle | The only key to the archive is with Ms. Tanaka.
middle | Nadia got the job at the observatory.
middle | We lost the appeal.
middle | The cat is called Miso.
middle | Backups go to the bucket cold-storage-2.
low | The kettle is boiling.
low | My tea went cold.
low | That was a long day.
low | What a lovely view.
low | Give me a second.
low | Someone left the window open.
low | The printer is humming.
low | I should go to bed soon.
low | The tests are running, this may take a while.
low | Nothing new so far.
low | The queue at the bakery was endless.
low | He shrugged and left.
low | Yes, exactly.
low | Wow, that took forever!
"""
# The same again, written when the rules stood: the plain speech that they know least. No rule was
# changed to fit one of these; 24 of 45 get their band, and the others fall to the middle, never to the far end.
UNSEEN = """
high | Leave the lights in the hall on overnight.
high | I go by Alex at work.
high | Sundays are for family, so book nothing then.
high | We don't do discounts, whatever they offer.
high | Numbers go in tables; text goes above them.
high | Oat milk only, thank you.
high | The third column should be the net price, I said gross by mistake.
high | Check with legal before you promise anything.
high | I'd like my coffee without sugar.
high | He can't have shellfish.
high | Nope, it was Lena who called, not Laura.
high | Give the short version first.
high | Commit messages begin with a verb in the imperative.
high | Skip the small talk in emails to the council.
middle | The gym membership renews in September.
middle | The violin belongs to her grandfather.
middle | The tenant moved out at the end of last month.
middle | Rust 1.75 is the oldest compiler we build with.
middle | I started physiotherapy for my knee.
middle | The parser keeps a stack of open brackets.
middle | Her thesis is about coral reefs.
middle | The heating is serviced by Nordwind.
middle | Two interns will join in July.
middle | We went live in Canada.
middle | The spare key is under the blue pot.
middle | He never finished his degree.
middle | Passwords are hashed with argon2.
middle | They must have sold the house in 2020.
middle | The vet said the tumour is benign.
middle | Our stand is in hall 4.
low | The clouds are moving fast.
low | Well, here we go.
low | My neighbour is mowing the lawn.
low | I could do with a holiday.
low | Scrolling down a little.
low | That took longer than I thought.
low | Ugh, Mondays.
low | The progress bar is at half.
low | Nobody laughed.
low | Anyway, where were we?
low | Fingers crossed.
low | I am a bit hungry.
low | It is quite warm in here.
low | The song on the radio was nice.
low | Opening the editor, one second.
"""


def labelled(lines: str) -> list[tuple[str, str]]:
    pairs = (line.split(" | ", 1) for line in lines.strip().splitlines())
    return [(band, text) for band, text in pairs]

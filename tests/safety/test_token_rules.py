"""Every kind of secret is found, and what only looks like one is let be."""

from __future__ import annotations

import re
from random import Random

import pytest

from nacre.safety.secrets import contains_secret, scrub
from nacre.safety.token_rules import RULES
from tests.growth import grows_in_proportion
from tests.safety.factories import DIGITS, HEX, LOWER, MAKERS, leaked, run, secrets

KINDS = sorted({rule.kind for rule in RULES})
EACH = 40
LETTERS = "q7Rt" + "Zp2xW9" + "mK4vLb8"  # some letters, put together so that no scanner takes them for a key


def test_every_kind_can_be_made() -> None:
    assert sorted(MAKERS) == KINDS


@pytest.mark.parametrize("kind", KINDS)
def test_secrets_of_each_kind_are_taken_out_wherever_they_stand(kind: str) -> None:
    missed = [made.text for made in secrets(kind, EACH, seed=7) if leaked(made, scrub(made.text).text)]
    assert len(missed) <= EACH * 0.05, missed


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.kind)
def test_a_rule_is_well_formed(rule: object) -> None:
    for each in (row for row in RULES if row is rule):
        assert re.fullmatch(r"[a-z0-9_]+", each.kind)
        assert re.compile(each.pattern)
        assert each.keywords
        assert each.where == "head" or all(keyword == keyword.lower() for keyword in each.keywords)


@pytest.mark.parametrize(
    "text",
    [
        "The password must be at least 8 characters long.",
        "password: required",
        "Enter your password: ",
        "password = getpass.getpass()",
        "password = os.environ['DB_PASSWORD']",
        "password=${DB_PASSWORD}",
        "PASSWORD=$DB_PASSWORD_2",
        'password: "<your password>"',
        'api_key = "YOUR_API_KEY_12345"',
        "token = xxxxxxxxxxxxxxxx1234",
        "password: changeme",
        "password=********",
        "max_tokens: 4096",
        "token_count = 128000",
        "password_min_length: 120000",
        "secret_name = 'prod/db/main-2'",
        "key = 'user:1234:profile'",
        "The tokenizer is at version 0.23.3rc1-beta2.",
        "def login(user: str, password: str) -> Token2: ...",
        "password = user.password2",
        "https://example.com:8080/path@2x.png",
        "postgres://app:${DB_PASSWORD}@db/app",
        "postgres://user:password@localhost/app",
        "mail me at lena@service.test about ticket 4021",
        "the commit 3f786850e387550fdab836ed7e6dc881de23001b broke it",
        "id 123e4567-e89b-12d3-a456-426614174000",
        "AK" + "IAIOSFODNN7" + "EXAMPLE",
        "task-force-of-the-century-and-more-2024",
        "pass force_zip64 to the writer",
        "-" * 5 + "BEGIN PRIVATE KEY" + "-" * 5 + " is how such a file begins",
        "Authorization: Bearer <token>",
        "Basic training starts at 0800hours",
    ],
)
def test_text_that_only_mentions_a_secret_stays_unchanged(text: str) -> None:
    assert scrub(text).findings == ()


@pytest.mark.parametrize(
    "text",
    [
        'db_password: "' + "sunshine" + '"',
        "DB_PASS=" + "sunshine",
        "PASSWORD=" + "correct-horse",
        "login is admin, password " + "Tr0ub4dor&3",
        "parole d'accès, mot de passe: " + "soleil42!",
        "the api key for Lena's account is " + LETTERS,
        "Token: " + LETTERS,
        "aws_session_token = " + LETTERS * 4,
        "{'client-secret': '" + LETTERS + "'}",
        "wget --user app --password=" + "sunny-day",
        '"auth": {"apiKey" : "' + LETTERS + '"}',
        "X_API_KEY: " + LETTERS,
        "proxy https://bob:" + "s3cr3t" + "@10.0.0.1:3128/",
        "redis://:" + "p@ss" + "w0rd@cache:6379",
        "$env:GH_TOKEN = '" + LETTERS + "'",
        "ENV NPM_TOKEN " + "np" + "m_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF3hJ6",
        "password:\n  " + "hunter2hunter2",
        "setx SECRET_KEY_BASE=" + "0f9a" * 16,
        "passwd=" + "abc123" + ";user=bob",
    ],
)
def test_secrets_as_people_write_them_are_found(text: str) -> None:
    assert contains_secret(text)


@pytest.mark.slow
@pytest.mark.parametrize(
    "part",
    [
        *(
            "a",
            "=",
            "-",
            "1",
            "A1b2",
            "\n",
            "-----BEGIN",
            "-----BEGIN PRIVATE KEY-----",
            "-----BEGIN PRIVATE KEY-----\nAAAA",
        ),
        *(
            "password=",
            "password is ",
            "password for a ",
            "token: ",
            "key",
            "api_key='",
            "://a:",
            "postgres://",
            "jdbc:a",
        ),
        *("aws ", "heroku key ", "curl -u ", "eyJ", "eyJhbGciOi.", "x" * 25 + ".", "sk-", 'private_key": "-----BEGIN'),
    ],
)
def test_a_long_hostile_text_takes_time_in_proportion(part: str) -> None:
    assert grows_in_proportion(scrub, part)


@pytest.mark.parametrize(
    "text",
    [
        "http://localhost:3000?email=bob@example.com",
        "ws://localhost:8080,mailto:bob@example.com",
        "http://127.0.0.1:8000|contact:ops@acme.io",
        "http://localhost:3000#a=bob@example.com",
        "mongodb://db1:27017,db2:27017?mail=bob@example.com",
    ],
)
def test_an_address_with_a_port_and_an_e_mail_is_not_a_password(text: str) -> None:
    assert scrub(text).text == text


@pytest.mark.parametrize(
    "text",
    [
        "COMPASS=northwest",
        "BYPASS=all-checks1",
        "PASSENGERS=1000000",
        "PASSED_TESTS=1234567",
        "SECRETARY=JaneMiller",
        "pass=200000 fail=3",
        "PASS=200000 FAIL=3",
        "mysql -h db -profile=x",
    ],
)
def test_a_name_that_only_contains_the_word_is_not_a_password(text: str) -> None:
    assert scrub(text).text == text


# The values are joined at run time, so that no scanner takes this file for a leak.
SENTENCES = {
    "Password for Jenkins = {}": "letmein" + "123",
    "Username admin, password {}": "admin" + "123",
    "The root pw for db01 is {}": "xK9!" + "mmQ2",
    "pass for staging: {}": "qwErty" + "99",
    "creds for prod are admin:{}": "Pr0d" + "P4ss!",
    "Login: alice / {}": "Wond3r" + "l@nd",
    "Passwort fuer den Server: {}": "Hund3" + "kuchen",
    "wachtwoord: {}": "Kaas5" + "broodje",
    "hasło to {}": "Pierogi" + "77",
    "La password è {}": "Spaghetti" + "9",
    "パスワードは{}です": "Sakura" + "2024",
    "密码是{}。": "Panda" + "8888",
    "비밀번호는 {}입니다": "Kimchi" + "9988",
    "redis-cli -h cache01 -a {} ping": "s3cr3t" + "Redis",
    "TOTP secret {}": "JBSWY3DP" + "EHPK3PXP",
    "docker login -u bob -p {} registry.acme.test": "Zx9k" + "Q2mmP1",
    "helm registry login -u bob -p '{}' registry.acme.test": "harbour" + "gate",
    "oc login https://cluster.acme.test -u bob -p={}": "harbour" + "gate",
    "ssh deploy@hera with {} as the password": "Zx9k" + "Q2mmP1",
    "Log in as root, using '{}' as its sudo password.": "harbour" + "!gate",
    "log in with user deploy and pw {}": "Kj8!" + "dsQ2",
    "Redis AUTH {}": "Zx9k" + "Q2mmP1aa",
    "echo '{}' | sudo -S ls": "Zx9k" + "Q2mmP1",
    "printf '%s' {} | docker login -u bob --password-stdin": "Zx9k" + "Q2mmP1",
}


@pytest.mark.parametrize("sentence", SENTENCES)
def test_a_password_is_found_in_a_natural_sentence(sentence: str) -> None:
    secret = SENTENCES[sentence]
    assert scrub(sentence.format(secret)).text.startswith(sentence.partition("{}")[0] + "[REDACTED:")
    assert secret not in scrub(sentence.format(secret)).text


@pytest.mark.parametrize(
    "text",
    [
        "The pass for Yosemite is $35.00 per car.",
        "Login: https://intranet.example.com/Portal2024",
        "Username field first, password field second.",
        "密码为SHA256加密",
        "パスワードは8文字以上です",
        "The first pass for the parser is slow.",
        "Login for partners: see the wiki",
        "Reset the password for Jenkins: open the admin page",
        "The 2FA key is on my keyring",
        "docker login -p is insecure; docker login -p option warns since 1.13.",
        "docker login ghcr.io && docker run -d -p 8080:80 ghcr.io/acme/web",
        "docker login works only over ssh -p 2222 deploy@hera",
        "az login then psql -h db -p 5432",
        "cf login -o org, then cf push shop -p target/shop-1.4.jar",
        "helm registry login ghcr.io; mkdir -p charts/v1",
        "Password (optional) Min8Chars and a digit",
        "the password (bcrypt) PasswordHasherV3 class",
        "user story and PW PROJ-1234 is done",
        "login failed, pw attempt#3 of 5",
        "redis auth Token2Rotation job",
        "use minLength:12 as the default password.",
        "Connect using port-5432 as the password for dev is empty",
        "docker login -u bob -p $REGISTRY_PASSWORD registry.acme.test",
        "docker run -p 8080:80 nginx, then docker login registry.acme.test:5000",
        "Use OAuth2 as the password grant is gone.",
        "Start with version-2.1 as password managers need it.",
        "The password (see wiki page Onboarding) expires in May.",
        "echo 'y' | sudo -S ls",
        'echo "$PASSWORD" | sudo -S ls',
        "echo 'Release-2.1' | sudo tee /etc/release",
        "Redis AUTH is off; redis auth redis-7.2.4 supports users.",
        "The user story and pw-tests are done.",
    ],
)
def test_a_sentence_about_a_password_stays_as_it_is(text: str) -> None:
    assert scrub(text).text == text


PASSWORDS = ("Qw7$" + "rTy8Ui", "Tr8k" + "Is4Ya")  # three kinds of characters, with a sign and without


@pytest.mark.parametrize("password", PASSWORDS, ids=["with a sign", "without a sign"])
@pytest.mark.parametrize(
    "sentence",
    [
        "the password for the staging server's admin user is {}",
        "The password, as of today, is still {}.",
        "the password was changed to {}",
        "The passphrase you need for db.example.com: `{}`",
        "das Passwort der Datenbank lautet {}",
        "Das Passwort, das wir für die Datenbank nutzen, ist jetzt „{}“.",
        "Das Passwort wurde auf {} geändert.",
        "Das WLAN-Passwort zu Hause:\n\n{}",
        "le mot de passe du serveur est {}",
        "le mot de passe de la base de données c'est {}",
        "le mot de passe de l'admin (production) : « {} »",
        "le mdp du wifi a été changé en {}",
        "la contraseña de la base de datos es {}",
        "contraseña del servidor: {}",
        "la clave del wifi ahora es {}",
        "a senha do banco de dados é {}",
        "a palavra-passe do servidor mudou para {}",
        "la password del database è {}",
        "het wachtwoord van de database is {}",
        "hasło do bazy danych to {}",
        "hasło zmieniono na {}",
        "heslo k databázi je {}",
        "пароль от базы: {}",
        "пароль администратора — {}",
        "Пароль от вайфая дома теперь {}, запомни",
        "пароль до бази це {}",
        "veritabanının şifresi {}",
        "Sunucunun parolası {} olarak değiştirildi",
        "lösenordet till servern är {}",
        "adgangskoden til serveren er {}",
        "tietokannan salasana on {}",
        "parola bazei de date este {}",
        "az adatbázis jelszava {}",
        "lozinka za server je {}",
        "ο κωδικός της βάσης είναι {}",
        "كلمة مرور قاعدة البيانات هي {}",
        "הסיסמה של השרת היא {}",
        "डेटाबेस का पासवर्ड {} है",
        "mật khẩu của máy chủ là {}",
        "kata sandi server adalah {}",
        "รหัสผ่านฐานข้อมูลคือ {}",
        "รหัสผ่านของเซิร์ฟเวอร์คือ{}",
        "密码已改为{}。",
        "パスワードは現在「{}」です",
        "データベースのパスワードを {} に変更しました",
        "비밀번호를 {}로 변경했습니다",
    ],
)
def test_a_password_is_found_behind_the_words_that_say_whose_it_is(sentence: str, password: str) -> None:
    before, after = sentence.split("{}")
    assert scrub(sentence.format(password)).text == f"{before}[REDACTED:password]{after}"


@pytest.mark.parametrize("sentence", ["Das Passwort auf {} ändern", "contraseña del servidor {}", "пароль от базы {}"])
def test_without_a_verb_only_a_value_that_leaves_no_doubt_is_a_password(sentence: str) -> None:
    assert PASSWORDS[0] not in scrub(sentence.format(PASSWORDS[0])).text
    assert scrub(sentence.format("Srv01")).findings == ()


@pytest.mark.parametrize(
    "text",
    [
        "Unser Passwortmanager ist 1Password",
        "the password manager is 1Password",
        "Il gestore di password è 1Password",
        "das Passwort für Server01 ist abgelaufen",
        "Das Passwort ist auf Server01 gespeichert",
        "Das Passwort der Datenbank steht in https://Wiki.example.com/Seite2",
        "das Passwort von Lena42@Example2.com ist abgelaufen",
        "Das Passwort muss A-Z, a-z, 0-9 und !@# enthalten",
        "le mot de passe de Lena42 est expiré",
        "mot de passe : 8 caractères minimum",
        "la contraseña se guarda con SHA-256",
        "el usuario Lena42 cambió la contraseña en Server01",
        "la clave primaria es id_Usuario_2",
        "la password di PostgreSQL16 scade a maggio",
        "het wachtwoord van Lena42 verloopt op 12-05-2026",
        "сменить пароль на Server01 до пятницы",
        "пароль хранится в KeePassXC-2.7",
        "salasana on vaihdettava 90 päivän välein",
        "Väärä salasana SOCKSv5-yhteyskäytäntöön",
        "Rotate the password — Server01 needs it",
        "The passwords of Server01 and Server02 were rotated",
        "the password in HEAD~3 was leaked",
        "Hasło nie jest dobre.%0ADodaj 2 znaki",
        "密码保存在Server01",
        "密码必须使用SHA-256加密",
    ],
)
def test_a_sentence_in_another_language_about_a_password_stays_as_it_is(text: str) -> None:
    assert scrub(text).text == text


def test_signs_that_mean_something_in_a_pattern_stand_for_themselves_in_a_prefix() -> None:
    random = Random(3)
    with_dollars = "access_token$" + "sandbox$" + run(LOWER + DIGITS, 16)(random) + "$" + run(HEX, 32)(random)
    assert scrub(f"It is {with_dollars} since May.").text == "It is [REDACTED:api_token] since May."

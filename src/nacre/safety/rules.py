"""What secrets look like: one row per kind, the sure signs first, the mere names of secrets last."""

from __future__ import annotations

from string import ascii_letters, digits

from nacre.safety.assignments import ASSIGNMENTS
from nacre.safety.rule import RUN_START, Rule, near, token

LONGEST = 512  # of a token; what is longer is data, and its head makes it worthless
KEYISH = r"(?:key|token|secret|auth|passw|credential)"
PEM_BODY = r"[^-]*+(?:-(?!----)[^-]*+)*+"  # ends at the next five dashes, so that a row of headers costs one pass
QUOTED_BODY = r"[^\"'-]*+(?:-(?!----)[^\"'-]*+)*+"
# Of a block that was cut off before its end, also behind the timestamps of a log.
PEM_LINES = (
    r"(?:(?:(?:\s|\\[nr]|[\"'+])*+[A-Za-z0-9+/=]{16,}+)++|"
    r"(?:[ \t]{0,8}\r?\n[^\n]{0,60}?(?<![A-Za-z0-9+/])[A-Za-z0-9+/=]{32,}+(?=\s|\Z))++)"
)
USER = r"[^\s/:@\"'<>\[\]{}()]{0,64}"
HOST_FOLLOWS = r"@(?=[\w\[.%$-])"
URL_PASSWORD = rf"{USER}:([^\s/\"'<>]{{1,256}}){HOST_FOLLOWS}"
DATABASES = (
    "postgres",
    "mysql",
    "mariadb",
    "mongodb",
    "redis",
    "rediss",
    "valkey",
    "amqp",
    "mssql",
    "sqlserver",
    "oracle",
    "clickhouse",
    "cockroachdb",
    "couchbase",
    "cassandra",
    "neo4j",
    "bolt",
    "nats",
    "snowflake",
    "influxdb",
)
WORD_SIGNS = ascii_letters + digits + "_-"
ALNUM, WORD = "[A-Za-z0-9]", r"[\w-]"
UUID = r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"
UUID_OR_HEX = rf"(?:{UUID}|[0-9a-f]{{32}})"

BLOCKS = (
    Rule(
        "gcp_private_key",
        r"(?i:private_key)\\?[\"']\s{0,4}:\s{0,4}\\?[\"']"
        rf"(-----BEGIN{QUOTED_BODY}-----{QUOTED_BODY}(?:-----END[^-]{{0,40}}-----)?)",
        ("private_key",),
        group=1,
        where="anywhere",
        also="-----",
    ),
    Rule(
        "private_key",
        r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
        rf"(?:{PEM_BODY}-----END[^-]{{0,60}}-----|{PEM_LINES})",
        ("-----begin ",),
        where="anywhere",
        also="-----",
    ),
    Rule(
        "private_key",
        r"(?i:private-lines): \d{1,3}\s{1,4}((?:[A-Za-z0-9+/=]{8,64}+\s?){2,400}+)",
        ("private-lines",),
        1,
        where="anywhere",
        also="private-lines",
    ),
)

TOKENS = (
    token("aws_access_key_id", r"[A-Z0-9]{16}(?![A-Za-z0-9])", "AKIA", "ASIA", "ABIA", "ACCA"),
    token("google_api_key", rf"{WORD}{{35,60}}", "AIza"),
    token("google_oauth_token", rf"{WORD}{{20,{LONGEST}}}", "ya29.", "GOCSPX-", "1//0"),
    token("anthropic_key", rf"{WORD}{{20,{LONGEST}}}", "sk-ant-"),
    token("openai_key", rf"{WORD}{{20,{LONGEST}}}", "sk-proj-", "sk-svcacct-", "sk-admin-", "sk-None-"),
    token("openai_key", rf"(?=[A-Za-z0-9-]{{0,60}}\d){ALNUM}[A-Za-z0-9-]{{3}}{WORD}{{16,{LONGEST}}}", "sk-", entropy=3),
    token("github_token", rf"{ALNUM}{{30,255}}", "ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
    token("github_token", r"\w{22,255}", "github_pat_"),
    token(
        "gitlab_token",
        rf"{WORD}{{20,{LONGEST}}}",
        "glpat-",
        "gldt-",
        "glrt-",
        "glcbt-",
        "glptt-",
        "glft-",
        "glimt-",
        "glagent-",
        "gloas-",
        "glsoat-",
        "glffct-",
    ),
    Rule("slack_token", rf"{RUN_START}xox[abceoprs](?:\.xox[a-z])?-[\w-]{{10,{LONGEST}}}", ("xox",)),
    token("slack_token", rf"{WORD}{{20,{LONGEST}}}", "xapp-"),
    Rule(
        "slack_webhook",
        r"hooks\.slack\.com/(?:services|workflows|triggers)/([\w/-]{20,256})",
        ("hooks.slack.com",),
        1,
        where="inside",
    ),
    token("stripe_key", rf"{ALNUM}{{16,{LONGEST}}}", "sk_live_", "sk_test_", "rk_live_", "rk_test_"),
    token("stripe_key", r"[A-Za-z0-9+/=]{24,128}", "whsec_"),
    Rule("twilio_key", rf"{RUN_START}SK[0-9a-f]{{32}}(?![A-Za-z0-9])", ("SK",)),
    Rule("sendgrid_key", rf"{RUN_START}SG\.[\w-]{{16,32}}\.[\w-]{{16,64}}", ("SG.",)),
    Rule("mailgun_key", rf"{RUN_START}key-[0-9a-f]{{32}}(?![A-Za-z0-9])", ("key-",)),
    Rule("mailchimp_key", r"(?<=[0-9a-f]{32})-us\d{1,2}(?!\w)", ("-us",), lead="0123456789abcdef", where="inside"),
    token("npm_token", rf"{ALNUM}{{36,64}}", "npm_"),
    token("pypi_token", rf"{WORD}{{40,{LONGEST}}}", "pypi-AgE"),
    token("docker_token", rf"{WORD}{{24,64}}", "dckr_pat_", "dckr_oat_"),
    token("huggingface_token", rf"{ALNUM}{{30,64}}", "hf_", "api_org_"),
    token("digitalocean_token", r"[a-f0-9]{64}", "dop_v1_", "doo_v1_", "dor_v1_"),
    token("heroku_key", rf"{WORD}{{32,128}}", "HRKU-"),
    Rule("cloudflare_key", rf"{RUN_START}v1\.0-[a-f0-9]{{24}}-[a-f0-9]{{100,160}}", ("v1.0-",)),
    Rule(
        "discord_token",
        r"(?<=[\w-]{23})\.[\w-]{6}\.[\w-]{27,45}(?![\w.])",
        (".",),
        entropy=3.5,
        lead=WORD_SIGNS,
        where="inside",
    ),
    Rule("discord_token", rf"{RUN_START}mfa\.[\w-]{{80,100}}", ("mfa.",)),
    Rule(
        "discord_webhook",
        r"/api/(?:v\d{1,2}/)?webhooks/\d{15,22}/([\w-]{50,128})",
        ("/api/webhooks/", "/api/v"),
        1,
        where="inside",
    ),
    Rule("telegram_token", r"(?<=\d{8}):AA[\w-]{32,36}(?![\w-])", (":aa",), lead="0123456789", where="inside"),
    token("shopify_token", r"[a-fA-F0-9]{32,64}", "shpat_", "shpca_", "shppa_", "shpss_"),
    token("square_token", rf"{WORD}{{22,64}}", "sq0atp-", "sq0csp-", "sq0idp-"),
    token("square_token", rf"{WORD}{{60,64}}(?!{WORD})", "EAAA"),
    token("atlassian_token", r"[\w=-]{60,512}", "ATATT3", "ATCTT3"),
    token("atlassian_token", r"[\w=]{28,64}", "ATBB"),
    token("linear_key", rf"{ALNUM}{{32,64}}", "lin_api_", "lin_oauth_", "lin_wh_"),
    token("notion_token", rf"{ALNUM}{{40,64}}", "ntn_", "secret_", entropy=3.5),
    token("vault_token", rf"{WORD}{{24,{LONGEST}}}", "hvs.", "hvb.", "hvr."),
    Rule(
        "terraform_token",
        r"(?<=[A-Za-z0-9]{14})\.atlasv1\.[\w-]{50,80}",
        (".atlasv1.",),
        lead=WORD_SIGNS,
        where="inside",
    ),
    Rule("databricks_token", rf"{RUN_START}dapi[a-f0-9]{{32}}(?:-\d)?(?![A-Za-z0-9])", ("dapi",)),
    Rule("azure_client_secret", r"(?<=[\w~.]{3}\d)Q~[\w~.-]{31,34}", ("q~",), lead=WORD_SIGNS + "~.", where="inside"),
    Rule(
        "azure_storage_key",
        r"(?i:AccountKey|SharedAccessKey)=([A-Za-z0-9+/]{40,88}={0,2})",
        ("accountkey=", "sharedaccesskey="),
        1,
        where="inside",
    ),
    Rule("azure_sas", r"(?<=[?&;\"' ])sig=([A-Za-z0-9%+/]{40,128}=?)", ("sig=",), 1, entropy=3.5, where="inside"),
    Rule("jwt", rf"{RUN_START}eyJ[\w-]{{10,1024}}+\.eyJ[\w-]{{10,8192}}+(?:\.[\w-]{{10,4096}}+)?", ("eyJ",)),
    token("grafana_token", r"[\w=+/-]{32,256}", "glsa_", "glc_"),
    token("newrelic_key", r"[A-Z0-9]{27}", "NRAK-"),
    token("planetscale_token", r"[\w.=-]{32,64}", "pscale_tkn_", "pscale_pw_", "pscale_oauth_"),
    token("postman_key", r"[a-f0-9]{24}-[a-f0-9]{34}", "PMAK-"),
    token("doppler_token", rf"{ALNUM}{{40,44}}", "dp.pt.", "dp.st.", "dp.ct.", "dp.sa."),
    token("supabase_key", rf"{WORD}{{20,64}}", "sbp_", "sb_secret_"),
    token("netlify_token", rf"{ALNUM}{{36,40}}", "nfp_"),
    token("groq_key", rf"{ALNUM}{{48,64}}", "gsk_"),
    token("perplexity_key", rf"{ALNUM}{{40,64}}", "pplx-"),
    token("xai_key", rf"{ALNUM}{{70,90}}", "xai-"),
    token("replicate_token", rf"{ALNUM}{{37,40}}", "r8_"),
    token("pinecone_key", r"\w{40,128}", "pcsk_"),
    token("langsmith_key", r"\w{32,64}", "lsv2_pt_", "lsv2_sk_"),
    token("pulumi_token", r"[a-f0-9]{40}", "pul-"),
    token("rubygems_key", r"[a-f0-9]{48}", "rubygems_"),
    token("age_key", r"[0-9A-Z]{58}", "AGE-SECRET-KEY-1"),
    token("sentry_token", r"[\w=+/.-]{40,512}", "sntrys_", "sntryu_"),
    token("figma_token", rf"{WORD}{{40,64}}", "figd_"),
    token("brevo_key", rf"{WORD}{{64,90}}", "xkeysib-"),
    token("artifactory_key", rf"{ALNUM}{{60,90}}", "AKCp"),
    token("alibaba_key", rf"{ALNUM}{{20}}(?![A-Za-z0-9])", "LTAI"),
    token("buildkite_token", rf"{ALNUM}{{40}}", "bkua_"),
    token("contentful_token", rf"{WORD}{{43}}", "CFPAT-"),
    token("typeform_token", r"[\w.=-]{40,80}", "tfp_"),
)

API_TOKENS = (
    # name of the service in the prefix, so that the body may be anything
    token("api_token", rf"{WORD}{{20,{LONGEST}}}", "tgp_v1_", "cfat_", "phc_", "phx_", "tvly-", "llx-", "odt_"),
    token("api_token", rf"{WORD}{{24,{LONGEST}}}", "vercel_blob_rw_", "akab-", "apify_api_", "bb_live_", "ory_pat_"),
    token("api_token", r"[A-Za-z0-9+/=_-]{40,512}", "bedrock-api-key-", "fm2_", "ops_eyJ"),
    token("api_token", rf"{WORD}{{12,128}}", "rzp_live_", "rzp_test_", "FLWSECK-", "FLWSECK_TEST-"),
    token("api_token", r"[0-9a-z]{26}_[A-Za-z0-9]{22}_[A-Za-z0-9]{3}", "pdl_live_apikey_", "pdl_sdbx_apikey_"),
    token("api_token", r"[0-9a-f]{32,64}(?![A-Za-z0-9])", "shippo_live_", "shippo_test_", "rootly_", "fc-", "sk_"),
    token("api_token", r"[0-9a-f]{35}(?![A-Za-z0-9])", "live_", "test_"),
    token("api_token", r"[0-9a-f]{40}(?![A-Za-z0-9])", "sqp_", "squ_", "sqa_"),
    token("api_token", r"(?:[0-9a-f]{16}_|local_)?[0-9a-f]{40}(?![A-Za-z0-9])", "sgp_"),
    token("api_token", rf"{ALNUM}{{24,32}}(?![A-Za-z0-9_-])", "fw_", "aio_", entropy=3.5),
    token("api_token", r"[a-z0-9]{48}(?![A-Za-z0-9])", "csk-"),
    token("api_token", rf"{ALNUM}{{22}}(?![A-Za-z0-9_-])", "as-", "ak-", entropy=3.8),
    token("api_token", rf"{WORD}{{40,64}}(?!{WORD})", "sk_", entropy=4.2),
    token("api_token", r"[A-Z2-7]{24}\.[A-Z2-7]{64}", "dt0c01.", "dt0s01.", "dt0s02."),
    token("api_token", r"[a-z0-9]{50,60}", "hcaik_01", "hcalk_01", "hcxik_01"),
    token("api_token", r"[0-9a-f]{8}\.[\w-]{20,128}", "snyk_sat.", "snyk_uat."),
    token("api_token", rf"[a-z]{{2,12}}\.{ALNUM}{{40,44}}", "dp.st.", "dp.ct."),
    token("api_token", r"[0-9a-f]{24}\.[0-9a-f]{32}\.[0-9a-f]{32}", "st."),
    token("api_token", rf"(?:auth|api|client|scim|webhook|oauth)-[A-Za-z0-9]{{6,24}}-{ALNUM}{{16,64}}", "tskey-"),
    token("api_token", rf"{WORD}{{30,64}}", "secret-live-", "secret-test-", "fio-u-", "tk-us-"),
    token("api_token", r"[a-z0-9]{60,70}", "napi_"),
    token("api_token", r"\d{1,16}-[A-Za-z0-9+/=]{40,512}", "ver:1-hint:"),
    token("api_token", r"[\w-]{40,512}\.[\w-]{16,64}", "sk.eyJ"),
    token("api_token", rf"{ALNUM}{{14}}\.[0-9a-f]{{64}}", "pat"),
    token("api_token", r"\d{6,10}_[A-Z0-9]{32}(?![A-Za-z0-9])", "pk_"),
    token("api_token", r"[0-9a-f]{64}[0-9A-F]{8}", "ATTA"),
    token("api_token", r"[A-Za-z0-9+/=]{80,128}(?![A-Za-z0-9+/=])", "AQE", "MC5", entropy=4.5),
    token("api_token", rf"{ALNUM}{{12,15}}![\w.]{{60,128}}", "00D"),
    token("api_token", r"[a-z0-9]{43}(?![A-Za-z0-9])", "oy2"),
    token("api_token", rf"{WORD}{{35,38}}(?!{WORD})", "AQVN"),
    token("api_token", r"[\w-]{20,512}\.[\w-]{60,128}", "t1."),
    token("api_token", r"[A-Z0-9]{25,32}(?![A-Za-z0-9_-])", "API-"),
    token("api_token", rf"[a-z0-9]{{16}}\${UUID_OR_HEX}", "access_token$production$", "access_token$sandbox$"),
    token("api_token", UUID_OR_HEX, "access-production-", "access-sandbox-", "api-"),
    token("api_token", r"[\w-]{200,512}(?![\w.-])", "eyJ"),
    token("api_token", r"[A-Za-z0-9+/=]{90,140}(?![A-Za-z0-9+/=])", "ABSK", entropy=4.5),
    token("api_token", r"[0-9a-f]{40}(?![A-Za-z0-9])", "e2b_"),
    token("api_token", r"\d{12,20}:[0-9a-f]{32}(?![A-Za-z0-9])", "1/"),
    token("api_token", rf"[a-z]{{2}}\d-{UUID}", "pat-"),
    token("api_token", UUID, "sdk-", "mob-"),
    token("api_token", r"[0-9a-f]{60}(?![A-Za-z0-9])", "CLOJARS_"),
    token("api_token", r"[A-Za-z0-9%]{60,160}(?![A-Za-z0-9%])", "AAAAAAAAAAAAAAAAAAAAA", entropy=3.5),
    token("api_token", r"[A-Za-z0-9+/=:]{60,400}", "$aact_prod_", "aact_prod_"),
    token("api_token", r"[a-z0-9]{36}(?![A-Za-z0-9])", "pnu_", "pnb_"),
)

CONTEXTS = (
    near(
        "aws_secret_key",
        ("aws", "secretaccesskey", "secret_access_key", "secret access key"),
        "[A-Za-z0-9/+]{40}",
        entropy=4.1,
    ),
    near("heroku_key", ("heroku",), UUID, named=KEYISH),
    near("cloudflare_key", ("cloudflare", "cf_api", "cf_token"), r"[\w-]{40}", entropy=4.1),
    near("cloudflare_key", ("cloudflare", "cf_api"), "[0-9a-f]{37}", named=KEYISH),
    near("datadog_key", ("datadog", "dd_"), "[0-9a-f]{32}|[0-9a-f]{40}", named=KEYISH),
    near("twilio_key", ("twilio",), "[0-9a-f]{32}", named=KEYISH),
    near("mailgun_key", ("mailgun",), "[0-9a-f]{32}(?:-[0-9a-f]{8}){2}"),
    near("atlassian_token", ("atlassian", "jira", "confluence"), r"(?=\w{0,23}\d)[A-Za-z0-9]{24}", entropy=3.7),
    near("discord_token", ("discord",), r"[\w-]{32}", named=KEYISH, entropy=4.0),
)

CONNECTIONS = (
    Rule(
        "database_password",
        rf"(?i:{'|'.join(DATABASES)})(?:ql)?(?:\+\w{{1,24}})?s?://{URL_PASSWORD}",
        DATABASES,
        1,
        where="anywhere",
        also="://",
    ),
    Rule(
        "database_password",
        r"(?i:jdbc):[^\s\"']{5,256}?[?;&](?i:password|pwd)=([^\s&;\"'<>]{1,128})",
        ("jdbc:",),
        1,
        where="anywhere",
        also="jdbc:",
    ),
    Rule(
        "database_password",
        r"(?:(?<=;)|(?<=; ))(?i:password|pwd) ?= ?([^;\s\"']{4,128})(?=;|[\"']|\s|$)",
        ("password", "pwd"),
        1,
        where="anywhere",
    ),
    Rule("url_password", rf"://{URL_PASSWORD}", ("://",), 1, where="anywhere", also="@"),
)

RULES: tuple[Rule, ...] = (*BLOCKS, *TOKENS, *API_TOKENS, *CONTEXTS, *CONNECTIONS, *ASSIGNMENTS)

"""Passwords as settings files, command lines and people of many languages write them; and what everybody may know."""

from __future__ import annotations

from random import Random
from string import ascii_letters, digits

import pytest

from nacre.safety.secrets import scrub

# Made here, so that no scanner takes the file for a leak.
VALUE = "Kastanie" + "".join(map(str, (4, 7, 1, 1))) + "q"
SPELT = "".join(Random(5).choices(ascii_letters + digits, k=38))


@pytest.mark.parametrize(
    "form",
    [
        "DB_PASS: {}", 'SMTP_PASS: "{}"', "      MYSQL_PASS: {}", "- name: DB_PASSWORD\n  value: {}",
        '    - name: DB_PASSWORD\n      value: "{}"', '<property name="password" value="{}"/>',
        '<add key="SmtpPassword" value="{}"/>', '<entry key="password">{}</entry>', 'psk="{}"', "requirepass {}",
        r'{{\"password\":\"{}\"}}',
        r'{{\\\"password\\\":\\\"{}\\\"}}', r'{{\\\\\\\"password\\\\\\\": \\\\\\\"{}\\\\\\\"}}',
    ],
)  # fmt: skip
def test_a_password_in_a_settings_file_is_taken_out(form: str) -> None:
    assert VALUE not in scrub(form.format(VALUE)).text


def test_the_login_of_npm_is_taken_out() -> None:
    login = "YWRhO" + "lMzY3JldFB3" + "OTk="
    assert login not in scrub(f"_auth = {login}").text


@pytest.mark.parametrize(
    "form",
    [
        "sqlcmd -S db -U sa -P {}", "mongo -u ada -p {}", "mongosh db -u ada -p {}", "ldapsearch -D cn=admin -w {}",
        "smbclient //srv/share -U ada%{}", "sqlplus ada/{}@db", "jdbc:oracle:thin:ada/{}@db:1521/x",
        "openssl rsa -in k.pem -passin pass:{}", "keytool -list -storepass {}", "unzip -P {} a.zip", "7z x -p{} a.7z",
        "mosquitto_pub -u ada -P {} -t x", "htpasswd -b users ada {}", 'echo "ada:{}" | sudo chpasswd',
        "rabbitmqctl add_user ada {}", r"net use \\srv\share {} /user:ada",
    ],
)  # fmt: skip
def test_a_password_on_a_command_line_is_taken_out(form: str) -> None:
    assert VALUE not in scrub(form.format(VALUE)).text


@pytest.mark.parametrize(
    "word",
    [
        "Lösenord", "passord", "adgangskode", "salasana", "Şifre", "parola", "parolă", "jelszó", "κωδικός",
        "كلمة المرور",
        "סיסמה", "पासवर्ड", "Mật khẩu", "Kata sandi", "รหัสผ่าน", "WLAN-Schlüssel",
    ],
)  # fmt: skip
def test_a_password_is_taken_out_in_many_languages(word: str) -> None:
    assert VALUE not in scrub(f"{word}: {VALUE}").text


def test_a_russian_password_needs_no_colon() -> None:
    assert VALUE not in scrub(f"Пароль от базы {VALUE}").text


@pytest.mark.parametrize(
    "text",
    [
        "Pay to 0x" + "52908400098527886E0F7030069857D2E4169EE7",
        "Pay to bc1" + "qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq",
        "We dance to spotify:track:" + SPELT[:22],
        f'<div data-sitekey="6L{SPELT}"></div>',
        "PASS: tests/test_shop.py::test_a1 ok",
        "FAIL and PASS: 12 of 14",
        "The parola of the day is bread",
        "unzip -P is not safe",
        "- name: PASSWORD_FILE\n  value: /run/secrets/db1",
        "7z x archive.7z -o/tmp",
        '<label for="password-input">Password:</label>',
        "the openssl option -passin reads it",
    ],
)
def test_what_everybody_may_know_is_let_be(text: str) -> None:
    assert scrub(text).text == text


@pytest.mark.parametrize(
    "text",
    [
        "docker run --name mongo -d -p 27017:27017 mongo:7", "unzip release.zip, then scp -P 2222 app host:/srv",
        "unzip f.zip && wget -P downloads", "for mongo run docker compose -p project1 up",
        "7z x data.7z && docker run -p8080:80 nginx", "ldapmodify -f x.ldif && grep -w member file.txt",
        "keytool takes -storepass option", "use -storepass instead of a file",
        "rabbitmqctl change_password guest then restart",
    ],
)  # fmt: skip
def test_an_option_of_another_command_is_no_password(text: str) -> None:
    assert scrub(text).text == text


def test_a_password_behind_a_filter_of_ldap_is_taken_out() -> None:
    assert VALUE not in scrub(f'ldapsearch -D cn=a,dc=b "(&(uid=a)(|(b=c)(d=e)))" -w {VALUE}').text


@pytest.mark.parametrize(
    "text",
    [
        '<span class="pass">100%</span>', '<td class="pass">42/42</td>', '<div id="pass">2024-05-01</div>',
        '<label for="password">Password*</label>', '<string name="forgot_password">Forgot?</string>',
        '- name: Passengers\n  value: "1234 people"', "- name: test_pass\n  value: shadow_map_2",
        "http_auth = HTTPBasicAuth", "oauth2_auth = OAuth2PasswordBearer", "psk: WPA2-Personal",
        "masterauth 127.0.0.1", "RENDER_PASS: shadow_map_2", "LOW_PASS: 440Hz-filter",
        "пароль от wifi написан на роутере TP-Link-840N",
    ],
)  # fmt: skip
def test_what_only_has_the_name_of_a_password_stays(text: str) -> None:
    assert scrub(text).text == text

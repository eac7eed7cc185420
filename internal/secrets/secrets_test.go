package secrets

import (
	"fmt"
	"math/rand"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	digits    = "0123456789"
	hex       = digits + "abcdef"
	upper     = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	base32    = upper + "234567"
	letter    = upper + "abcdefghijklmnopqrstuvwxyz"
	token     = letter + digits
	base64Set = token + "+/"
)

// pseudorandom returns n pseudorandom characters, the same for each call. The source
// contains no credential, so that no scanner reports this file.
func pseudorandom(n int, of string) string {
	r := rand.New(rand.NewSource(int64(n)))
	b := make([]byte, n)
	for i := range b {
		b[i] = of[r.Intn(len(of))]
	}
	return string(b)
}

// samples returns a credential of each provider that agents use most.
func samples() map[string]string {
	return map[string]string{
		"anthropic-api-key":                  "sk-ant-api03-" + pseudorandom(93, token) + "AA",
		"anthropic-token":                    "sk-ant-oat01-" + pseudorandom(86, token),
		"atlassian-api-token":                "ATATT3" + pseudorandom(180, token) + "=ABCDEF01",
		"aws-access-token":                   "AKIA" + pseudorandom(16, base32),
		"azure-client-secret":                "abc8Q~" + pseudorandom(34, token),
		"azure-storage-key":                  pseudorandom(86, base64Set) + "==",
		"digitalocean-pat":                   "dop_v1_" + pseudorandom(64, hex),
		"docker-pat":                         "dckr_pat_" + pseudorandom(27, token),
		"gcp-api-key":                        "AIza" + pseudorandom(35, token),
		"gcp-oauth-access-token":             "ya29." + pseudorandom(120, token),
		"gcp-oauth-client-secret":            "GOCSPX-" + pseudorandom(28, token),
		"github-fine-grained-pat":            "github_pat_" + pseudorandom(22, token) + "_" + pseudorandom(59, token),
		"github-pat":                         "ghp_" + pseudorandom(36, token),
		"gitlab-pat":                         "glpat-" + pseudorandom(20, token),
		"grafana-service-account-token":      "glsa_" + pseudorandom(32, token) + "_" + pseudorandom(8, hex),
		"groq-api-key":                       "gsk_" + pseudorandom(52, token),
		"hashicorp-tf-api-token":             pseudorandom(14, token) + ".atlasv1." + pseudorandom(64, token),
		"huggingface-token":                  "hf_" + pseudorandom(33, token) + "7",
		"json-web-token":                     "eyJ" + pseudorandom(20, token) + ".eyJ" + pseudorandom(120, token) + "." + pseudorandom(43, token),
		"npm-access-token":                   "npm_" + pseudorandom(36, token),
		"openai-api-key":                     "sk-proj-" + pseudorandom(74, token) + "T3BlbkFJ" + pseudorandom(74, token),
		"openrouter-api-key":                 "sk-or-v1-" + pseudorandom(64, hex),
		"pypi-upload-token":                  "pypi-AgEIcHlwaS5vcmc" + pseudorandom(120, token),
		"sendgrid-api-token":                 "SG." + pseudorandom(22, token) + "." + pseudorandom(43, token),
		"slack-bot-token":                    "xoxb-" + pseudorandom(11, digits) + "-" + pseudorandom(12, digits) + "-" + pseudorandom(24, token),
		"slack-webhook-url":                  "https://hooks.slack.com/services/T" + pseudorandom(8, upper) + "/B" + pseudorandom(8, upper) + "/" + pseudorandom(24, token),
		"sourcegraph-token":                  "sgp_" + pseudorandom(40, hex),
		"stripe-access-token":                "sk_live_" + pseudorandom(24, token),
		"supabase-key":                       "sbp_" + pseudorandom(40, hex),
		"telegram-bot-token":                 "1234567890:AA" + pseudorandom(33, token),
		"vault-token":                        "hvs." + pseudorandom(24, token),
		"xai-api-key":                        "xai-" + pseudorandom(80, token),
		"flyio-access-token":                 "fo1_" + pseudorandom(43, token),
		"1password-secret-key":               "A3-" + pseudorandom(6, upper+digits) + "-" + pseudorandom(11, upper+digits) + "-" + pseudorandom(5, upper+digits) + "-" + pseudorandom(5, upper+"1") + "-" + pseudorandom(5, upper+"2"),
		"age-secret-key":                     "AGE-SECRET-KEY-1" + pseudorandom(58, "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L"),
		"gitlab-runner-authentication-token": "glrt-" + pseudorandom(20, token),
	}
}

// TestFind checks that every provider's credential is found in any surrounding
// text, with exact bounds.
func TestFind(t *testing.T) {
	for rule, s := range samples() {
		for _, around := range [][2]string{
			{"", ""}, {"the key is ", "."}, {"**", "**"}, {"`", "`,"}, {"(", ")"}, {"<", ">"}, {"密钥", "。"}, {"KEY=", "\r\nnext"}, {"a\n- \"", "\" # b"}, {"\t", "\\n"}, {"|", "|"},
		} {
			before := around[0]
			if rule == "azure-storage-key" {
				before += "AccountKey="
			}
			text := before + s + around[1]
			found := Find(text)
			if len(found) != 1 || text[found[0].Start:found[0].End] != s && rule != "slack-webhook-url" {
				t.Errorf("%s: in %q found %+v", rule, text, found)
			} else if got := found[0].Rule; got != rule {
				t.Errorf("%s is taken for %s", rule, got)
			}
		}
	}
}

// TestFindNothing checks that hashes, ids and placeholders from documentation
// are not credentials.
func TestFindNothing(t *testing.T) {
	for _, s := range []string{
		"", "a", "gh", "ghp_", "ghp_short",
		pseudorandom(40, hex), "commit " + pseudorandom(40, hex), pseudorandom(64, hex), "sha256:" + pseudorandom(64, hex), pseudorandom(32, hex), "sha256-" + pseudorandom(43, base64Set) + "=",
		"123e4567-e89b-12d3-a456-426614174000", pseudorandom(40, base64Set), pseudorandom(200, token),
		"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI" + pseudorandom(43, base64Set) + " me@host",
		"-----BEGIN CERTIFICATE-----\n" + pem(20) + "-----END CERTIFICATE-----", "-----BEGIN PUBLIC KEY-----\n" + pem(4) + "-----END PUBLIC KEY-----",
		"-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----", "a line -----BEGIN PRIVATE KEY----- comes first, then what it says, in many words, then -----END PRIVATE KEY-----",
		"postgres://user:password@localhost:5432/db", "https://user:secret@example.com",
		"AKIAIOSFODNN7EXAMPLE", "ghp_" + strings.Repeat("x", 36), "npm_" + strings.Repeat("x", 36), "sk-ant-api03-...", "glpat-" + strings.Repeat("*", 20), "sk_live_" + strings.Repeat("0", 24),
		"1234567890:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "12:30:AAA", "the word eyJ.eyJ.x", "AIzaSyabcdefghijklmnopqrstuvwxyz1234567",
		"sk_test_" + pseudorandom(24, token), "k3f9", "~abcdefghij", "2026-02-04/telegram_12345.md", "msg:42", "acct:42", "telegram:123456", "sk-learn", "API-KEY", "hf_hub_download", "the SG. is here",
	} {
		if found := Find(s); found != nil {
			t.Errorf("%q has %+v", s, found)
		}
	}
}

func pem(lines int) string {
	var b strings.Builder
	for i := range lines {
		b.WriteString(pseudorandom(64+i, base64Set)[i:] + "\n")
	}
	return b.String() + "Qk9E==\n"
}

func TestFindKeys(t *testing.T) {
	indent := func(s, with string) string { return strings.ReplaceAll(s, "\n", "\n"+with) }
	for _, kind := range []string{"PRIVATE KEY", "RSA PRIVATE KEY", "OPENSSH PRIVATE KEY", "ENCRYPTED PRIVATE KEY", "PGP PRIVATE KEY BLOCK"} {
		begin, end := "-----BEGIN "+kind+"-----\n", "-----END "+kind+"-----\n"
		for _, text := range []string{
			begin + pem(9) + end, begin + pem(9), begin + "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\n" + pem(5) + end,
			indent("- key:\n"+begin+pem(3)+end, "    "), indent(begin+pem(3)+end, "> "), strings.ReplaceAll(begin+pem(3)+end, "\n", "\r\n"),
			`{"private_key": "` + strings.ReplaceAll(begin+pem(3)+end, "\n", `\n`) + `"}`, strings.ReplaceAll(begin+pem(3)+end, "\n", " "),
			pem(3)[10:] + end, "a b\n" + indent("> "+pem(2)+end, "> "),
			begin + pem(1)[:64] + "\n" + end,
		} {
			found := Find(text)
			if len(found) != 1 || found[0].Rule != "private-key" {
				t.Errorf("in %q found %+v", text, found)
				continue
			}
			masked := string(Mask([]byte(text)))
			if CountMasks(masked) == 0 || strings.Count(masked, "\n") != strings.Count(text, "\n") || !strings.Contains(masked, "PRIVATE KEY") || strings.Contains(text, "END") != strings.Contains(masked, "-----END") {
				t.Errorf("%q is masked as %q", text, masked)
			}
			if strings.Contains(masked, pem(1)[:64]) || strings.Contains(masked, "Qk9E") {
				t.Errorf("some of the key is left in %q", masked)
			}
		}
	}
}

func TestMask(t *testing.T) {
	ghp, xoxb := samples()["github-pat"], samples()["slack-bot-token"]
	for _, test := range []struct {
		text, want string
		masks      int
	}{
		{"nothing here", "nothing here", 0},
		{"REDACTED by hand", "REDACTED by hand", 0},
		{"a " + ghp + " b", "a RED_ACTEDREDACTEDREDACTEDREDACTEDREDACTE b", 1},
		{ghp + "\n" + ghp, "RED_ACTEDREDACTEDREDACTEDREDACTEDREDACTE\nRED_ACTEDREDACTEDREDACTEDREDACTEDREDACTE", 2},
		{"x" + xoxb + ".", "x" + "REDA-CTEDREDACTE-DREDACTEDRED-ACTEDREDACTEDREDACTEDRED.", 1},
		{samples()["telegram-bot-token"], "0EDACTEDRE:DACTEDREDACTEDREDACTEDREDACTEDREDAC", 1},
	} {
		got, n := Redact(test.text)
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("Redact(%q): %s", test.text, diff)
		}
		if n != test.masks {
			t.Errorf("Redact(%q) counts %d, not %d", test.text, n, test.masks)
		}
	}
	for text, want := range map[string]string{"none": "", "a " + ghp: "github-pat", "a " + string(Mask([]byte(ghp))): "redaction"} {
		if got := MatchingRule(text); got != want {
			t.Errorf("Rule(%q) = %q, not %q", text, got, want)
		}
	}
}

// FuzzMask checks that a mask has the length of its credential, differs from
// the credential in letters and digits only, and contains no further finding.
func FuzzMask(f *testing.F) {
	for _, s := range samples() {
		f.Add(s)
		f.Add("a: \"" + s + s + "\n" + s)
	}
	f.Add("-----BEGIN PRIVATE KEY-----\n" + pem(4) + "-----END PRIVATE KEY-----")
	f.Add("-----BEGIN PRIVATE KEY-----" + strings.Repeat("0", 42) + "\n000000\n-----END PRIVATE KEY-----")
	f.Add("password: hunter2, pwd='s3cr3t' 密码是 abc12345 PIN: 4711 | 4111 1111 1111 1111")
	f.Fuzz(func(t *testing.T, s string) {
		masked := Mask([]byte(s))
		if len(masked) != len(s) {
			t.Fatalf("%q is masked as %q", s, masked)
		}
		for i, c := range masked {
			if c != s[i] && (!isAlnum(c) || !isAlnum(s[i])) {
				t.Fatalf("%q is masked as %q", s, masked)
			}
		}
		last := 0
		for _, f := range Find(s) {
			if f.Start < last || f.End <= f.Start || f.End > len(s) {
				t.Fatalf("in %q found %+v", s, Find(s))
			}
			last = f.End
		}
		if again := Find(string(masked)); again != nil {
			t.Fatalf("%q is masked as %q, where %+v is found", s, masked, again)
		}
	})
}

// TestRules checks that the rules compile and that their words are long enough
// for the matcher.
func TestRules(t *testing.T) {
	names := map[string]bool{}
	for _, r := range allRules() {
		compileRule(r) // panics in tests
		if names[r.name] && r.link == "" || len(r.words) == 0 || r.form == "" && r.accept == nil {
			t.Errorf("%+v is not a rule", r)
		}
		names[r.name] = true
		for _, w := range r.words {
			if len(w) < wordBytes {
				t.Errorf("%s: the word %q is too short to look for", r.name, w)
			}
		}
	}
	for name := range samples() {
		if !names[name] {
			t.Errorf("there is no rule %s", name)
		}
	}
}

// BenchmarkFind measures prose without a credential, which is the usual content
// of memory, and text full of false beginnings.
func BenchmarkFind(b *testing.B) {
	for name, text := range map[string]string{
		"prose":   strings.Repeat("- **Deploy**: the certificate of the staging host was renewed on 2026-02-04, see [notes](a/b.md) `4f2a9c`.\n", 10_000),
		"chinese": strings.Repeat("- **部署**：测试环境的证书已于二月四日更新，详见会议记录。\n", 10_000),
		"almost":  strings.Repeat("ghp_ eyJ. sk-ant- AKIA glpat- xoxb- API- EAAA npm_ dapi SG. hf_ .acc_ v1.0- -----BEGIN PRIVATE KEY-----\n", 10_000),
		"dense":   strings.Repeat("eyJ-", 250_000),
		"words":   strings.Repeat("the password is in the vault, pin it, 密码 20260204 ", 20_000),
		"digits":  strings.Repeat("4111 1111 ", 100_000),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				Find(text)
			}
		})
	}
}

// TestMatchingID checks that an id with the marker of a token counts as a credential, and
// that usual ids of sessions do not.
func TestMatchingID(t *testing.T) {
	for id, want := range map[string]bool{
		"sk-ant-" + "api03-AAAAbbbbCCCCddddEEEEffff0123": true, "ghp_" + "0123456789abcdefghij": true,
		"sk-ant-notes": false, "npm_install_fix_2026-02-05": false, "cli_session_001": false, "": false, "hf": false,
		"7c9e6679-7425-40de-944b-e07fc1f90ae7": false, "pul-7c9e6679-7425-40de-944b-e07fc1f90ae7": false,
	} {
		if got := MatchingID(id); (got != "") != want {
			t.Errorf("%q: %q", id, got)
		}
	}
}

// TestRedactValue checks that each part with a credential is masked in a copy.
func TestRedactValue(t *testing.T) {
	key := "ghp_" + "a1B2c3D4e5a1B2c3D4e5a1B2c3D4e5a1B2c3"
	type part struct {
		Text, Clean string
		Pointer     *string
		List        []string
		Map         map[string]any
		Next        *part
	}
	value := func() *part {
		return &part{key, "text", &key, []string{"text", key}, map[string]any{key: []any{1, key, nil}}, &part{Text: key}}
	}
	in := value()
	out, masks := RedactValue(in)
	if text := fmt.Sprintf("%+v %s %+v", *out, *out.Pointer, *out.Next); masks != 6 || strings.Contains(text, key[:8]) {
		t.Errorf("%d masks, want 6: %s", masks, text)
	}
	if !reflect.DeepEqual(in, value()) {
		t.Errorf("the value itself has changed: %+v", in)
	}
	if out, masks = RedactValue(&part{Clean: "text"}); masks != 0 || out.Clean != "text" {
		t.Errorf("without credentials: %+v, %d masks", out, masks)
	}
}

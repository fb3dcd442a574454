package policies_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/policies"
	"github.com/tmux-intercom/tmux-intercom/scripting"
	"github.com/tmux-intercom/tmux-intercom/scripting/policy"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/secret"
)

// some returns a text of n characters that is on no list of leaked keys. These tests put their secrets together when
// they run, so that a scan for secrets finds none here.
func some(n int) string { return strings.Repeat("Zq7Xw2Kv9Tb4", n/12+1)[:n] }

func upper(n int) string { return strings.ToUpper(some(n)) }

var pem = "-----BEGIN RSA PRIVATE" + " KEY-----\n" + strings.Repeat(some(64)+"\n", 4)

// secrets are samples of each shape, by the name of the shape.
var secrets = map[string][]string{
	"AWS key":            {"AKIA" + upper(16), "ASIA" + upper(16)},
	"AWS secret key":     {"aws_secret_access_key = " + some(40), `AWS_SECRET_ACCESS_KEY="` + some(40)},
	"GitHub token":       {"ghp_" + some(36), "gho_" + some(36), "ghu_" + some(36), "ghs_" + some(36), "ghr_" + some(36), "github_pat_" + some(22) + "_" + some(59)},
	"GitLab token":       {"glpat-" + some(20)},
	"Anthropic key":      {"sk-ant-api03-" + some(93) + "AA"},
	"OpenAI key":         {"sk-proj-" + some(40) + "_" + some(20), "sk-svcacct-" + some(40)},
	"API key":            {"sk-" + some(48), "sk-or-v1-" + some(64)},
	"Google key":         {"AIza" + some(35)},
	"Google secret":      {"GOCSPX-" + some(28)},
	"Google token":       {"ya29." + some(60)},
	"Slack token":        {"xoxb-" + "1234567890-" + some(24), "xapp-1-A0123-456-" + strings.Repeat("0a", 32)},
	"Slack webhook":      {"hooks.slack.com/services/T0123/B0123/" + some(24)},
	"Stripe key":         {"sk_live_" + some(24), "rk_live_" + some(24)},
	"npm token":          {"npm_" + some(36)},
	"PyPI token":         {"pypi-AgEIcHlwaS5vcmc" + some(120)},
	"Hugging Face token": {"hf_" + strings.Repeat("qW", 17)},
	"SendGrid key":       {"SG." + some(22) + "." + some(43)},
	"age key":            {"AGE-SECRET-KEY-1" + upper(58)},
	"JSON web token":     {"eyJ" + some(20) + ".eyJ" + some(40) + "." + some(43)},
	"authorization":      {"Authorization: Bearer " + some(24), "authorization: token " + some(24), `Authorization": "Bearer ` + some(24), `authorization\":\"Basic ` + some(24)},
	"private key": {
		pem + "-----END RSA PRIVATE KEY-----", pem,
		strings.ReplaceAll(pem, "\n", `\n`), strings.ReplaceAll(pem, "RSA ", "") + "-----END PRIVATE KEY-----",
		"-----BEGIN PGP PRIVATE" + " KEY BLOCK-----\nComment: x, y\n\n" + pem[32:] + "=aBcD\n-----END PGP PRIVATE KEY BLOCK-----",
	},
}

// harmless are texts that look a little like secrets but are not.
var harmless = []string{
	"use scikit-learn (sk-learn), and the task-" + strings.Repeat("0a", 16), "AKIA is how such keys begin", "ghp_ and gho_ are prefixes",
	"commit " + strings.Repeat("0a", 20), "018f3c5e-7c1a-7d2b-9e4f-0123456789ab", "data:image/png;base64,iVBORw0KGgo" + some(400),
	"-----BEGIN CERTIFICATE-----\n" + some(64) + "\n-----END CERTIFICATE-----", "-----BEGIN PUBLIC KEY-----\n" + some(64),
	"a -----BEGIN PRIVATE KEY----- line stands at the top of the file, then base64", "Authorization: Bearer $TOKEN", "the bearer of good news",
	"eyJhbGciOiJIUzI1NiJ9 is a header", "sk_test_" + some(24), "npm_config_registry=https://registry.example", "password: hunter2", "",
	"https://hooks.slack.com/services/ is where they are", "desk-" + some(40), "ssh-ed25519 AAAA" + some(60) + " ada@example",
}

// Secrets of well-known shapes do not leave. The text around them does, and so does text that only looks a little like
// them.
func TestL6_C29_secretsAreMasked(t *testing.T) {
	r := newRig(t, nil)
	for name, all := range secrets {
		for _, one := range all {
			mask := "[redacted: " + name + "]"
			in := said("Here it is: '" + one + "', and again\n" + one + "\nuse it.")
			in.Message.Subject = "the key " + one
			v := r.decided(in)
			require.NotNil(t, v.Body, name)
			assert.Equal(t, secret.Mask(in.Message.Body), *v.Body, "logs mask what filters do")
			assert.NotContains(t, *v.Body, one[len(one)-12:], name)
			assert.True(t, strings.HasPrefix(*v.Body, "Here it is: '"+mask), "%s: %s", name, *v.Body)
			assert.True(t, strings.HasSuffix(*v.Body, "\nuse it."), "%s: %s", name, *v.Body)
			require.NotNil(t, v.Subject, name)
			assert.Equal(t, "the key "+mask, strings.TrimSpace(strings.TrimSuffix(*v.Subject, `\n`)), name)
			assert.False(t, v.Unfiltered)
			in = said("harmless")
			in.Message.Meta = map[string]string{"topic": "the key " + one, "other": "none"}
			if tag := "key:" + one; len(tag) <= message.MaxTag {
				in.Message.Tags = []string{"first", tag}
			}
			beside := r.decided(in)
			assert.Nil(t, beside.Body)
			require.Len(t, beside.Meta, 1, name)
			assert.Equal(t, "the key "+mask, strings.TrimSpace(strings.TrimSuffix(beside.Meta["topic"], `\n`)), name)
			if in.Message.Tags != nil {
				require.NotNil(t, beside.Tags, name)
				assert.Equal(t, "first", (*beside.Tags)[0])
				assert.NotContains(t, (*beside.Tags)[1], one[len(one)-12:], name)
			}
			for _, line := range v.Log {
				assert.NotContains(t, line.Text, one[:12], "the log has it")
			}
		}
	}
	glued := r.decided(said("id" + "AKIA" + upper(16) + "and more"))
	require.NotNil(t, glued.Body)
	assert.Equal(t, "id[redacted: AWS key]and more", *glued.Body, "letters beside it hide no key")
	assert.Equal(t, "id[redacted: AWS key]and more", secret.Mask("id"+"AKIA"+upper(16)+"and more"))
	token := "ghp_" + some(36) // as `grep --color` writes a match, or with invisible characters
	for _, apart := range []string{"\x1b[01;31m\x1b[Kghp_\x1b[m\x1b[K" + token[4:], token[:9] + "\u200b" + token[9:], token[:9] + "\u2060\u00ad" + token[9:], token[:2] + "\x00" + token[2:]} {
		in := said("it says " + apart + ", so")
		in.Message.Subject = apart
		v := r.decided(in)
		require.NotNil(t, v.Body, "%q", apart)
		assert.Equal(t, "it says [redacted: GitHub token], so", *v.Body)
		assert.Equal(t, "[redacted: GitHub token]", strings.TrimSpace(*v.Subject))
		assert.Equal(t, *v.Body, secret.Mask(in.Message.Body))
		assert.Equal(t, "GitHub token", secret.Find(in.Message.Body))
	}
	for _, text := range harmless {
		assert.Equal(t, text, secret.Mask(text))
		in := said(text)
		in.Message.Subject, in.Message.Meta = text, map[string]string{"a": text}
		v := r.decided(in)
		assert.Nil(t, v.Body, "%q", text)
		assert.Nil(t, v.Subject)
		assert.Nil(t, v.Meta)
		assert.Empty(t, v.Log)
	}
}

// A filter that fails keeps the message here, in a chat too, whatever is decided about it. So does the shipped filter,
// and a person's yes does not let the message out as it is.
func TestL6_failedFilterHolds(t *testing.T) {
	broken := policy.Source{Name: "policies/10.lua", Text: `intercom.on("filter", function(msg) error("x") end)
intercom.rule("all", {}, intercom.deliver())`}
	r := newRig(t, nil, broken)
	v, err := r.engine.Evaluate(t.Context(), said("a key: ghp_"+some(36)))
	require.NoError(t, err)
	assert.Equal(t, message.VerbHold, v.Outcomes[0].Verb)
	assert.Contains(t, v.Outcomes[0].Reason, "filter failed")
	assert.True(t, v.Unfiltered)
	require.NotNil(t, v.Body, "the others still ran")
	assert.NotContains(t, *v.Body, "ghp_")

	// More secrets than the filter has time for.
	r = newRig(t, nil)
	v, err = r.engine.Evaluate(t.Context(), said(strings.Repeat("\nsk_live_"[1:]+some(16)+" ", 1<<20/25)))
	if err != nil || len(v.Failures) > 0 { // a busy machine may have no time for them
		assert.Equal(t, message.VerbHold, v.Outcomes[0].Verb)
		assert.True(t, v.Unfiltered)
	} else {
		assert.NotContains(t, *v.Body, "sk_live_")
	}
}

// The longest possible text, made of nothing but beginnings of secrets, is searched in the time that a script has, and
// the script is asked about the next message too.
func TestRedact_worstText(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	busy := false
	for _, size := range []int{64 << 10, message.MaxBody} {
		began := time.Now()
		v, err := r.engine.Evaluate(t.Context(), said(marks(size)))
		t.Logf("%d KiB of marks: %s, %d failures", size>>10, time.Since(began).Round(100*time.Microsecond), len(v.Failures))
		if errors.Is(err, scripting.ErrLater) || slices.ContainsFunc(v.Failures, func(f policy.Failure) bool { return f.Kind == policy.Killed }) {
			busy = true
			continue // the machine is busy, and the script may be quarantined by now
		}
		require.NoError(t, err)
		if len(v.Failures) > 0 { // for the same reason
			assert.Equal(t, message.VerbHold, v.Outcomes[0].Verb)
		} else {
			assert.Equal(t, message.VerbDeliver, v.Outcomes[0].Verb)
		}
		assert.Empty(t, r.engine.Status().Quarantined)
	}
	if busy { // then nothing goes unredacted
		var v policy.Verdict
		var err error
		require.Eventually(t, func() bool { // the worker is starting
			v, err = r.engine.Evaluate(t.Context(), said("hello"))
			return !errors.Is(err, scripting.ErrLater)
		}, time.Minute, 10*time.Millisecond)
		require.NoError(t, err)
		if len(v.Failures) > 0 {
			assert.Equal(t, message.VerbHold, v.Outcomes[0].Verb)
			return
		}
		assert.Equal(t, message.VerbDeliver, v.Outcomes[0].Verb)
		return
	}
	assert.Equal(t, message.VerbDeliver, r.decided(said("hello")).Outcomes[0].Verb)
}

// marks returns a text of beginnings of secrets, none of which is a whole secret.
func marks(n int) string {
	all := "AKIA aws_secret_access_key AWS_SECRET_ACCESS_KEY github_pat_ glpat- sk-ant- sk-proj- sk- AIza GOCSPX- ya29. xoxb- xapp-1- " +
		"hooks.slack.com/services/T1/B1/ sk_live_ rk_live_ npm_ pypi-AgEIcHlwaS5vcmc hf_ SG. AGE-SECRET-KEY-1 eyJ.eyJ Authorization: Bearer " +
		"-----BEGIN PRIVATE" + " KEY----- ghp_ gho_ ghu_ ghs_ ghr_ "
	return strings.Repeat(all, n/len(all)+1)[:n]
}

// The cost of redaction, through the worker: prose, code with one secret, and the worst text.
func BenchmarkRedact(b *testing.B) {
	engine := scripting.New(scripting.Options{})
	set, err := engine.Compile(b.Context(), policy.Files{Sources: policies.Shipped()})
	require.NoError(b, err)
	engine.Use(set)
	defer engine.Close()
	prose := strings.Repeat("All work and no play makes Jack a dull boy; the disk-usage of task_12 is fine. ", 1000)
	for _, size := range []int{4 << 10, 64 << 10} {
		for name, text := range map[string]string{
			"prose": prose[:size], "one": prose[:size-60] + " ghp_" + some(36), "worst": marks(size),
		} {
			b.Run(fmt.Sprintf("%dKiB/%s", size>>10, name), func(b *testing.B) {
				for b.Loop() {
					v, err := engine.Evaluate(b.Context(), said(text))
					if err != nil || len(v.Failures) > 0 {
						b.Fatal(err, v.Failures)
					}
				}
			})
		}
	}
}

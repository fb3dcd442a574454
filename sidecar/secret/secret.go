// Package secret finds credentials of unmistakable shapes in a text, and masks them: keys that begin with their
// maker's prefix, private keys, tokens. It does not guess from how random a text looks, so it does not find a
// password in a sentence.
//
// The shapes are those of policies/10-redact.lua, which masks messages on their way to agents; a test there
// keeps the two equal. They follow the rules of gitleaks
// (https://github.com/gitleaks/gitleaks/blob/v8.30.1/config/gitleaks.toml), but only those with a fixed prefix.
//
// The package is pure: it has no state and no goroutine, and gives the same answer for the same text.
package secret

import (
	"regexp"
	"strings"
	"sync"

	"github.com/tmux-intercom/tmux-intercom/sidecar/sanitise"
)

// shape is one kind of credential.
type shape struct {
	name  string
	marks []string // beginnings of the credential; a text without any of them is not searched
	rest  string   // what follows a mark
	word  bool     // the mark must begin a word
}

var shapes = []shape{
	{"AWS key", []string{"AKIA", "ASIA", "ABIA", "ACCA"}, `[A-Z0-9]{16}`, false},
	{"AWS secret key", []string{"aws_secret_access_key", "AWS_SECRET_ACCESS_KEY"}, `["']?\s*[:=]\s*["']?[A-Za-z0-9/+]{40}`, false},
	{"GitHub token", []string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_"}, `[A-Za-z0-9]{36,}`, false},
	{"GitHub token", []string{"github_pat_"}, `[A-Za-z0-9_]{40,}`, false},
	{"GitLab token", []string{"glpat-"}, `[A-Za-z0-9_-]{20,}`, false},
	{"Anthropic key", []string{"sk-ant-"}, `[A-Za-z0-9_-]{16,}`, false},
	{"OpenAI key", []string{"sk-proj-", "sk-svcacct-", "sk-admin-"}, `[A-Za-z0-9_-]{20,}`, false},
	{"API key", []string{"sk-"}, `(?:or-v1-)?[A-Za-z0-9]{32,}`, true},
	{"Google key", []string{"AIza"}, `[A-Za-z0-9_-]{35}`, false},
	{"Google secret", []string{"GOCSPX-"}, `[A-Za-z0-9_-]{28}`, false},
	{"Google token", []string{"ya29."}, `[A-Za-z0-9_-]{20,}`, false},
	{"Slack token", []string{"xoxa-", "xoxb-", "xoxe-", "xoxo-", "xoxp-", "xoxr-", "xoxs-"}, `[A-Za-z0-9-]{10,}`, false},
	{"Slack token", []string{"xapp-"}, `[0-9]-[A-Z0-9]+-[0-9]+-[a-f0-9]{32,}`, false},
	{"Slack webhook", []string{"hooks.slack.com/services/"}, `T[A-Z0-9]+/B[A-Z0-9]+/[A-Za-z0-9]{20,}`, false},
	{"Stripe key", []string{"sk_live_", "rk_live_"}, `[A-Za-z0-9]{16,}`, false},
	{"npm token", []string{"npm_"}, `[A-Za-z0-9]{36}`, false},
	{"PyPI token", []string{"pypi-AgEIcHlwaS5vcmc"}, `[A-Za-z0-9_-]{50,}`, false},
	{"Hugging Face token", []string{"hf_"}, `[A-Za-z]{34}`, true},
	{"SendGrid key", []string{"SG."}, `[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}`, false},
	{"age key", []string{"AGE-SECRET-KEY-1"}, `[A-Z0-9]{58}`, false},
	{"JSON web token", []string{"eyJ"}, `[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}`, false},
	{"authorization", []string{"Authorization", "authorization"}, `\\?["']?\s*[:=]\s*\\?["']?(?:[Bb]earer|[Bb]asic|[Tt]oken) [A-Za-z0-9._~+/=-]{16,}`, false},
	// A key without its END line is masked as far as its lines go.
	{"private key", []string{"-----BEGIN "}, `[A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----(?s:.*?-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|(?:[\s\\n]*[A-Za-z0-9+/=]{16,})+)`, false},
}

// compiled returns the expressions of shapes. They are compiled when the first text has a mark, so that a
// command that only reads need not wait for that.
var compiled = sync.OnceValue(func() []*regexp.Regexp {
	all := make([]*regexp.Regexp, len(shapes))
	for i, s := range shapes {
		quoted := make([]string, len(s.marks))
		for j, mark := range s.marks {
			quoted[j] = regexp.QuoteMeta(mark)
		}
		begin := ""
		if s.word {
			begin = `\b`
		}
		all[i] = regexp.MustCompile(begin + `(?:` + strings.Join(quoted, "|") + `)` + s.rest)
	}
	return all
})

// likely reports whether a text has a mark of the shape.
func (s shape) likely(text string) bool {
	for _, mark := range s.marks {
		if strings.Contains(text, mark) {
			return true
		}
	}
	return false
}

// Find returns the kind of the first credential in a text, like "GitHub token"; "" for none. It also finds a
// credential that is split by an escape sequence or an invisible character, because a reader sees neither.
func Find(text string) string {
	if kind := find(text); kind != "" {
		return kind
	}
	if shown, changed := sanitise.Text(text, sanitise.Options{}); changed > 0 {
		return find(shown)
	}
	return ""
}

func find(text string) string {
	for i, s := range shapes {
		if s.likely(text) && compiled()[i].MatchString(text) {
			return s.name
		}
	}
	return ""
}

// Mask returns text with "[redacted: KIND]" in place of each credential. If a credential is only visible once
// the text is sanitised, the result is sanitised.
func Mask(text string) string {
	if shown, changed := sanitise.Text(text, sanitise.Options{}); changed > 0 {
		if masked := mask(shown); masked != shown {
			return masked
		}
	}
	return mask(text)
}

func mask(text string) string {
	for i, s := range shapes {
		if s.likely(text) {
			text = compiled()[i].ReplaceAllLiteralString(text, "[redacted: "+s.name+"]")
		}
	}
	return text
}

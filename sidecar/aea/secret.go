package aea

import (
	"regexp"
	"sync"
)

// secrets are credentials of unmistakable shapes: what no message may have. The shipped filter
// masks the same kinds, and more, on the way to agents. They are compiled when a message is first
// sent: a command that only reads should not wait for that.
var secrets = sync.OnceValue(func() []secret {
	return []secret{
		{"an AWS key", regexp.MustCompile(`\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b`)},
		{"an AWS secret key", regexp.MustCompile(`(?i)aws_secret_access_key["']?\s*[:=]\s*["']?[A-Za-z0-9/+]{40}`)},
		{"a GitHub token", regexp.MustCompile(`gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{40,}`)},
		{"a GitLab token", regexp.MustCompile(`glpat-[A-Za-z0-9_-]{20,}`)},
		{"an Anthropic key", regexp.MustCompile(`sk-ant-[A-Za-z0-9_-]{16,}`)},
		{"an API key", regexp.MustCompile(`\bsk-(?:(?:proj|svcacct|admin|or-v1)-)?[A-Za-z0-9_-]{32,}`)},
		{"a Google key", regexp.MustCompile(`AIza[A-Za-z0-9_-]{35}`)},
		{"a Slack token", regexp.MustCompile(`xox[abeoprs]-[A-Za-z0-9-]{10,}`)},
		{"a Stripe key", regexp.MustCompile(`[sr]k_live_[A-Za-z0-9]{16,}`)},
		{"an npm token", regexp.MustCompile(`npm_[A-Za-z0-9]{36}`)},
		{"a JSON web token", regexp.MustCompile(`eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}`)},
		{"a private key", regexp.MustCompile(`-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----`)},
	}
})

// secret is one kind of credential.
type secret struct {
	kind  string
	shape *regexp.Regexp
}

// Secret says what credential stands in a text ("a GitHub token"), "" for none that is known by
// its shape.
func Secret(text string) string {
	for _, one := range secrets() {
		if one.shape.MatchString(text) {
			return one.kind
		}
	}
	return ""
}

// Secret is the credential that the message has, "" for none.
func (m Message) Secret() string {
	text := m.Subject + "\n" + m.Text()
	for _, tag := range m.Tags {
		text += "\n" + tag
	}
	return Secret(text)
}

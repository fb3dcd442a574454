package service

import (
	"maps"
	"slices"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/secret"
)

// redacted returns an event as a log shows it, without credentials. Only the journal has the original, and any
// process of this user may ask for the log.
func redacted(e message.Event) message.Event {
	if e.Message != nil {
		m := redactedMessage(*e.Message)
		e.Message = &m
	}
	if e.Delivery != nil {
		d := *e.Delivery
		d.Message = redactedMessage(d.Message)
		e.Delivery = &d
	}
	if e.Receipt != nil {
		r := *e.Receipt
		r.Words = secret.Mask(r.Words)
		e.Receipt = &r
	}
	if e.Verdict != nil {
		v := *e.Verdict
		v.Body, v.Subject, v.Meta = masked(v.Body), masked(v.Subject), maskedValues(v.Meta)
		if v.Tags != nil {
			tags := maskedAll(*v.Tags)
			v.Tags = &tags
		}
		v.Reason = secret.Mask(v.Reason)
		v.Outcomes = slices.Clone(v.Outcomes)
		for i := range v.Outcomes {
			v.Outcomes[i].Text, v.Outcomes[i].Reason = secret.Mask(v.Outcomes[i].Text), secret.Mask(v.Outcomes[i].Reason)
		}
		e.Verdict = &v
	}
	e.Notice = secret.Mask(e.Notice)
	return e
}

func redactedMessage(m message.Envelope) message.Envelope {
	m.Subject, m.Body = secret.Mask(m.Subject), secret.Mask(m.Body)
	m.Tags, m.Meta = maskedAll(m.Tags), maskedValues(m.Meta)
	return m
}

func masked(text *string) *string {
	if text == nil {
		return nil
	}
	clean := secret.Mask(*text)
	return &clean
}

func maskedAll(texts []string) []string {
	texts = slices.Clone(texts)
	for i := range texts {
		texts[i] = secret.Mask(texts[i])
	}
	return texts
}

func maskedValues(values map[string]string) map[string]string {
	values = maps.Clone(values)
	for key, value := range values {
		values[key] = secret.Mask(value)
	}
	return values
}

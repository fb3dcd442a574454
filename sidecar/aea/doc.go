// Package aea implements AEA, the protocol in which agents of different repositories leave each other messages as files
// below .aea/.
//
// Read and Message.Encode read and write a message; neither touches a file. The larger part is the reader of
// .aea/agent-config.yaml, in which the owner of a repository says what becomes of messages for its agent. Two shapes of
// that file are in use, under the same name: the one that AEA's installer writes (response_policy, by type and
// priority), and the one of AEA's own repository (monitoring.auto_process and response_policies). Both become one
// Config: rules that are tried from the first to the last, and conditions that only tighten. What neither says is not
// decided here: the shipped policy has the protocol's own table for it.
//
// AEA's own list of agents is written by the package repository; KeepsAgents says whether a change of it loses one.
//
// The reader opens no file and never fails: each fault of the text is a Problem with its line, and if part of a rule
// cannot be understood, a person is asked.
package aea

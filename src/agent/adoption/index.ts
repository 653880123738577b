// Makes an observed box a managed one: works out what it lacks against the box template, shows that as one difference, and does exactly
// what was shown, with the former files kept, proven by the probe rule, or takes all of it back.
// It never moves a version, never touches a volume, never shows a secret, and leaves alone what it cannot complete: that is a finding.
export { type CompletionDeps, complete } from './complete.ts'

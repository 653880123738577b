// Mail: takes a finished text to one address, by SMTP or into a folder.
// It decides nothing about whom to write to and keeps no mail of its own; a caller repeats what failed.
// The password of the server is in no error and no log, and never crosses a network in the clear.

export type { Mailer } from './mail.ts'
export { makeMailer } from './mailer.ts'

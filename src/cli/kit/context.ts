import type { Clock } from '../../core/kit/index.ts'
import type { Api, StoredLogins } from './connection.ts'
import type { Ask } from './input.ts'
import type { Style } from './style.ts'
import type { Output, Progress } from './terminal.ts'

/** What a command may use; each takes only the parts it needs. */
export type Context = Readonly<{
  api: Api
  /** The daemon's address, as given or as last logged in to. */
  url: string
  logins: StoredLogins
  /** TENANTRY_TOKEN is set: it speaks, whoever is logged in. */
  byToken: boolean
  ask: Ask
  /** `--yes`: go on where a person would be asked. */
  yes: boolean
  /** `--json`: stdout belongs to the result alone. */
  json: boolean
  progress: (firstLine: string) => Promise<Progress>
  clock: Clock
  /** All of stdin, for what scripts give that must not stand on the command line. */
  readStdin: () => Promise<string>
  stdout: Output
  stderr: Output
  /** How a result may look: on stdout. */
  style: () => Style
  /** Says on stderr what a person reads beside the result, as that terminal takes it: folded to its width, and not at all where there is none. */
  notify: (said: string | ((style: Style) => string)) => void
  /** stdout is a terminal that a person watches, so a board may redraw itself; a CI job's terminal gets plain lines. */
  live: boolean
  /** Aborts at Ctrl-C. */
  signal: AbortSignal
}>

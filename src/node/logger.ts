import { type Logger, pino } from 'pino'

export type { Logger }

/** Field names that never reach a log line, at the first three levels of a logged object. */
const secretFields = [
  'authorization',
  'cookie',
  'password',
  'token',
  'secret',
  'approvalToken',
  'totp',
  'refresh_token',
  'privateKey',
  'key',
]
const redact = secretFields.flatMap((field) => [field, `*.${field}`, `*.*.${field}`])

type LogOptions = Readonly<{ form: 'pretty' | 'json'; level?: string; program: string }>

/** JSON lines for machines, or one readable line each on a terminal. */
export function makeLogger({ form, level = 'info', program }: LogOptions): Logger {
  const options = { level, base: { program }, redact: { paths: redact, censor: '[secret]' } }
  if (form === 'json') return pino(options)
  return pino({
    ...options,
    transport: { target: 'pino-pretty', options: { ignore: 'pid,hostname,program', translateTime: 'SYS:HH:MM:ss', singleLine: true } },
  })
}

/** For tests and one-shot commands. */
export const silentLogger = (): Logger => pino({ level: 'silent' })

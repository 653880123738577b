import type { Logger } from './logger.ts'

/** Running requests and leases are handed back within this time. */
const graceMs = 10_000

/** `signal` aborts at the first error that no owner handled. */
export type LastResort = Readonly<{ signal: AbortSignal; remove(): void }>

/**
 * For programs that run until they are stopped. After an error that no owner handled their state is unknown: it is logged, the program stops as for
 * SIGTERM, and its exit code is 1, so that a supervisor starts it again. It ends after ten seconds in any case.
 */
export function installLastResort(log: Pick<Logger, 'fatal'>, { exit = process.exit, limitMs = graceMs } = {}): LastResort {
  const failed = new AbortController()
  // A rejection without a handler arrives here too.
  const end = (error: unknown, origin: string) => {
    log.fatal({ origin, stack: textOf(error) }, 'unexpected error: the program ends and must be started again')
    if (failed.signal.aborted) return
    process.exitCode = 1
    setTimeout(() => exit(1), limitMs).unref()
    failed.abort()
  }
  process.on('uncaughtException', end)
  return { signal: failed.signal, remove: () => void process.off('uncaughtException', end) }
}

/** The stack without other properties of the error, and without credentials in addresses and headers. */
const textOf = (error: unknown): string =>
  (error instanceof Error ? (error.stack ?? error.message) : String(error))
    .replace(/\/\/[^/\s@]*@/g, '//[secret]@')
    .replace(/\b(Bearer|Basic) [\w.~+/=-]+/gi, '$1 [secret]')

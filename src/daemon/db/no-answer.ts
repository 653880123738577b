/** What PostgreSQL, and the way to it, say when a statement, a transaction at rest or a silent connection had its time. */
const slow = new Set(['57014', '25P03', 'ETIMEDOUT'])

/** It shuts down, starts, has no connection left or is only read from at present; nobody is there; the way was cut. */
const away =
  /^(08\w{3}|57P0\d|53300|25006|E(CONNREFUSED|CONNRESET|CONNABORTED|PIPE|HOSTUNREACH|HOSTDOWN|NETUNREACH|NETDOWN|AI_AGAIN|NOTFOUND))$/

/** Its driver says these without a code. */
const awayInWords = /^(Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error)/

/** Whether a failure says no more than that the database is too slow, or away, at this moment; undefined for every other. */
export function noAnswerOf(error: unknown): 'slow' | 'away' | undefined {
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown }
  if (typeof code === 'string' && slow.has(code)) return 'slow'
  if (typeof code === 'string' && away.test(code)) return 'away'
  return typeof message === 'string' && awayInWords.test(message) ? 'away' : undefined
}

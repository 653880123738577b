// Tells a slow or unavailable database from other errors, so that requests answer 503 and not 500.

/** SQLSTATE of a statement or an idle transaction that exceeded its time limit. */
const timeoutCodes = new Set(['57014', '25P03'])

/** SQLSTATE of a server that shuts down, starts, has no free connection or is read-only. */
const unavailableCodes = /^(08\w{3}|57P0\d|53300|25006)$/

/** Network errors. Connections to other servers fail with the same codes, so they count only for marked errors. */
const networkCodes = /^E(CONNREFUSED|CONNRESET|CONNABORTED|PIPE|HOSTUNREACH|HOSTDOWN|NETUNREACH|NETDOWN|AI_AGAIN|NOTFOUND)$/

/** Driver errors without a code. */
const driverMessages = /^(Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error)/

const databaseErrors = new WeakSet<object>()

/** Marks the error as one of the database and rethrows it. */
function rethrowMarked(error: unknown): never {
  if (typeof error === 'object' && error !== null) databaseErrors.add(error)
  throw error
}

type Pool<Client> = Readonly<{ connect(): Promise<Client>; end(): Promise<void> }>

/** The same pool, with its connection errors marked. */
export const markConnectErrors = <Client>(pool: Pool<Client>): Pool<Client> => ({
  connect: () => pool.connect().catch(rethrowMarked),
  end: () => pool.end(),
})

/** Marks the errors of the client's statements. Patches the client itself, because pool and Kysely identify it by reference. */
export function markQueryErrors(client: object): void {
  const patched = client as { query(...args: unknown[]): unknown }
  const query = patched.query.bind(patched)
  patched.query = (...args) => {
    const result = query(...args)
    return result instanceof Promise ? result.catch(rethrowMarked) : result
  }
}

/** `slow` or `away` for an error without a database answer, else undefined. A commit may have happened in either case. */
export function noAnswerOf(error: unknown): 'slow' | 'away' | undefined {
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown }
  if (typeof code === 'string' && timeoutCodes.has(code)) return 'slow'
  if (typeof code === 'string' && unavailableCodes.test(code)) return 'away'
  if (!databaseErrors.has(Object(error))) return undefined
  if (code === 'ETIMEDOUT') return 'slow'
  if (typeof code === 'string' && networkCodes.test(code)) return 'away'
  return typeof message === 'string' && driverMessages.test(message) ? 'away' : undefined
}

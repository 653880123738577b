/** What PostgreSQL says when a statement or a transaction at rest had its time. */
const slow = new Set(['57014', '25P03'])

/** It shuts down, starts, has no connection left or is only read from at present. */
const away = /^(08\w{3}|57P0\d|53300|25006)$/

/** The way to it: nobody is there, or it was cut. Ways to others end with the same words. */
const cut = /^E(CONNREFUSED|CONNRESET|CONNABORTED|PIPE|HOSTUNREACH|HOSTDOWN|NETUNREACH|NETDOWN|AI_AGAIN|NOTFOUND)$/

/** Its driver says these without a code. */
const awayInWords = /^(Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error)/

const ofDatabase = new WeakSet<object>()

/** Throws what a connection to the database failed with, which is known as that from then on. */
function failed(error: unknown): never {
  if (typeof error === 'object' && error !== null) ofDatabase.add(error)
  throw error
}

type Connecting<Client> = Readonly<{ connect(): Promise<Client>; end(): Promise<void> }>

/** The same pool, whose failures to connect `noAnswerOf` knows. */
export const knownByFailure = <Client>(pool: Connecting<Client>): Connecting<Client> => ({
  connect: () => pool.connect().catch(failed),
  end: () => pool.end(),
})

/** Whatever this client's statements fail with `noAnswerOf` knows as the database's. The client stays itself: pool and Kysely know it by that. */
export function markFailures(client: object): void {
  const asking = client as { query(...said: unknown[]): unknown }
  const ask = asking.query.bind(asking)
  asking.query = (...said) => {
    const answer = ask(...said)
    return answer instanceof Promise ? answer.catch(failed) : answer
  }
}

/** Whether a failure says no more than that the database is too slow, or away, at this moment; undefined for every other. */
export function noAnswerOf(error: unknown): 'slow' | 'away' | undefined {
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown }
  if (typeof code === 'string' && slow.has(code)) return 'slow'
  if (typeof code === 'string' && away.test(code)) return 'away'
  return ofDatabase.has(Object(error)) ? lostWay(code, message) : undefined
}

function lostWay(code: unknown, message: unknown): 'slow' | 'away' | undefined {
  if (code === 'ETIMEDOUT') return 'slow'
  if (typeof code === 'string' && cut.test(code)) return 'away'
  return typeof message === 'string' && awayInWords.test(message) ? 'away' : undefined
}

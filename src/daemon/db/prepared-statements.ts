import { LRUCache } from 'lru-cache'

/** Each is prepared on every connection that uses it, and takes memory of the server. */
const maxStatements = 200
/** Many texts occur once, such as the insert of 37 rows. */
const minUses = 5

const names = new Map<string, string>()
const uses = new LRUCache<string, number>({ max: 1000 })

/**
 * Has PostgreSQL parse and plan a recurring statement once per connection. For writes and look-ups by key only: their plan does not depend on
 * the values, and their columns do not change with a migration. Returns the statement.
 */
export function preparedStatement(text: string): string {
  if (names.has(text) || names.size >= maxStatements) return text
  const count = (uses.get(text) ?? 0) + 1
  uses.set(text, count)
  if (count === minUses) names.set(text, `tenantry_${names.size}`)
  return text
}

type Client = { query(...args: unknown[]): unknown }

/** Makes the client prepare these statements. Patches the client itself, because pool and Kysely identify it by reference. */
export function prepareStatements(client: object): void {
  const patched = client as Client
  const query = patched.query.bind(patched)
  patched.query = (text, ...rest) => {
    const name = typeof text === 'string' ? names.get(text) : undefined
    return name === undefined ? query(text, ...rest) : query({ name, text, values: rest[0] }, ...rest.slice(1))
  }
}

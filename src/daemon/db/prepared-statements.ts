/** Each is prepared on every connection that uses it, and takes memory of the server. */
const maxStatements = 200

const names = new Map<string, string>()

/**
 * Has PostgreSQL parse and plan the statement once per connection. For writes and look-ups by key only: their plan does not depend on the
 * values, and their columns do not change with a migration. Beyond a limit, statements are not prepared.
 */
export function preparedStatement(text: string): string {
  if (!names.has(text) && names.size < maxStatements) names.set(text, `tenantry_${names.size}`)
  return text
}

type Client = { query(...args: unknown[]): unknown }

/** Makes the client prepare these statements. Patches the client itself, because pool and Kysely identify it by reference. */
export function prepareStatements(client: object): void {
  const patched = client as Client
  const query = patched.query.bind(patched)
  patched.query = (text, ...rest) => {
    const name = typeof text === 'string' ? names.get(text) : undefined
    return name === undefined ? query(text, ...rest) : query({ name, text, values: rest[0] })
  }
}

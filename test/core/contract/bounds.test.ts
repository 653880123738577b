import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { api } from '../../../src/core/api.ts'
import { type Auth, type Bound, boundOf, costOf, costs, type EndpointShape, isSchema } from '../../../src/core/contract/index.ts'
import { anonymousBounds } from '../../../src/core/limits/index.ts'
import { clientPaths } from '../../../src/daemon/http/index.ts'

const endpoints = Object.values(api).flatMap((contract) =>
  Object.entries(contract).map(([name, shape]): readonly [string, EndpointShape] => [name, shape]),
)

const callers = (auth: Auth): string => {
  if (auth.kind === 'none') return 'anyone'
  if (auth.kind === 'admin') return `${auth.person ? 'person, ' : ''}${auth.setup ? 'any role' : auth.role}`
  if (auth.kind === 'platform')
    return `${auth.developer ? 'developer' : (auth.capability ?? 'user')}${auth.orAdmin ? `, ${auth.orAdmin}` : ''}`
  return auth.kind
}

/** Per second of one address. The settings have those of logins and of open paths. */
const perAddress = ({ auth, path, perAddress: own }: EndpointShape): string => {
  if (['/api/auth/v1/login', '/api/auth/v1/school/login'].includes(path)) return '5'
  const isGated = auth.kind === 'none' || clientPaths.some((prefix) => path.startsWith(`${prefix}/`))
  return String(own ?? (isGated ? 30 : '–'))
}

const table = (heads: readonly string[], rows: readonly (readonly string[])[]) =>
  [heads, heads.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n')

const classes = table(
  ['class', 'a call', 'of a caller', 'of a tenant', 'at once', 'waiting'],
  Object.entries(costs).map(([cost, { work, perCaller, perMinute, perTenant, parallel, waiting }]: [string, Bound]) => [
    ...[`\`${cost}\``, work, perMinute ? `${perCaller}; ${perMinute} a minute` : String(perCaller)],
    ...[perTenant, parallel, waiting].map((bound) => String(bound ?? '–')),
  ]),
)
const anonymous = table(
  ['class', 'a call', 'a second', 'at once', 'waiting', 'waiting of one address', 'max wait'],
  Object.entries(anonymousBounds).map(([name, { work, perCaller, parallel, waiting, maxWaitSeconds, restMs }]) => [
    ...[`\`${name}\``, work, String((1000 * parallel) / restMs), String(parallel)],
    ...[String(waiting), String(perCaller), `${maxWaitSeconds} s`],
  ]),
)
const calls = table(
  ['endpoint', 'caller', 'class', 'per address'],
  endpoints.map(([, shape]) => [`\`${shape.method} ${shape.path}\``, callers(shape.auth), costOf(shape), perAddress(shape)]),
)

test('docs/limits.md lists each endpoint with its caller and its bound', async () => {
  const page = readFileSync('docs/limits.md', 'utf8')
  const [head] = page.split(/(?<=<!-- generated: .* -->\n)/)
  const intro = 'Users count against the budget of their tenant as well. `per address`: requests of one address in a second.'
  await expect(`${head}\n${classes}\n\n### Calls without a login\n${anonymous}\n\n${intro}\n\n${calls}\n`).toMatchFileSnapshot(
    '../../../docs/limits.md',
  )
})

/** What a call does by its form must not be in a class for cheap calls. */
const dear = (shape: EndpointShape): string | undefined => {
  const { takesLong, path, multipart } = shape
  if (/^\/api\/admin\/v1\/(login|password|totp\/(enrol|disable)|console\/login|reauthenticate|accounts\/:id\/reset-password)$/.test(path))
    return 'a password'
  if (/\/rollouts(\/plan|\/:id\/(start|rollback|rollback\/plan))?$/.test(path) && shape.method === 'POST') return 'the plan of a fleet'
  if (takesLong) return 'a long answer'
  if (multipart) return 'a file'
  if (/\/(export|import|imports|simulate|rehearse|verify)$|user-imports$/.test(path)) return path
  return undefined
}

test.each(endpoints)('%s is bounded', (_, shape) => {
  const bound: Bound = boundOf(shape)
  expect(bound.perCaller).toBeGreaterThan(0)
  if (dear(shape)) expect(['read', 'write'], dear(shape)).not.toContain(costOf(shape))
  if (bound.parallel !== undefined) expect(bound.waiting).toBeGreaterThan(0)
  // Another server that hangs must not keep calls from their places that need none.
  const waits = shape.problems?.some((code) => code === 'HOMESERVER_UNREACHABLE' || code === 'PAYMENTS_UNAVAILABLE')
  if (waits && bound.parallel !== undefined) expect(costOf(shape)).toBe('remote')
  // Whatever streams must not hold a place of a class with few of them.
  if (!isSchema(shape.returns) && shape.returns.kind === 'sse') expect(bound.parallel).toBeUndefined()
})

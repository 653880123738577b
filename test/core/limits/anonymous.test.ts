import { expect, test } from 'vitest'
import { api } from '../../../src/core/api.ts'
import { costOf, type EndpointShape } from '../../../src/core/contract/index.ts'
import { type AnonymousClass, anonymousBounds, anonymousClassOf } from '../../../src/core/limits/index.ts'

const perSecond = (name: AnonymousClass) => (1000 * anonymousBounds[name].parallel) / anonymousBounds[name].restMs

test('answers to callers without a login take at most a tenth of the thread, at 0.4 ms each', () => {
  const cheap = ['page', 'console', 'health', 'signed', 'refusal'] as const
  expect(cheap.map(perSecond).reduce((sum, one) => sum + one)).toBeLessThanOrEqual(250)
})

test.each(Object.entries(anonymousBounds))('a full queue of %s is served before its calls expire', (name, { waiting, maxWaitSeconds }) => {
  expect(waiting).toBeLessThanOrEqual(maxWaitSeconds * perSecond(name as AnonymousClass))
})

test.each([
  ['/healthz', 'health'],
  ['/metrics', 'health'],
  ['/console', 'console'],
  ['/vendor/open', 'console'],
  ['/api/vendor/v1/page-sessions', 'page'],
  ['/console/assets/index.js', 'console'],
  ['/consoles', 'page'],
  ['/api/auth/v1/login', 'login'],
  ['/api/admin/v1/login', 'login'],
  ['/api/admin/v1/console/login', 'login'],
  ['/api/auth/v1/refresh', 'session'],
  ['/api/webhooks/stripe', 'signed'],
  ['/docs', 'page'],
  ['/api/public/marketplace/submissions', 'page'],
])('%s is of the class %s', (path, name) => {
  expect(anonymousClassOf(path)).toBe(name)
})

test('logins that hash a password, health checks and signed events of the contract have a class of their own', () => {
  const open = Object.values(api)
    .flatMap((contract) => Object.values(contract) as EndpointShape[])
    .filter(({ auth }) => auth.kind === 'none')
  const routesOf = (name: AnonymousClass) => open.map(({ path }) => path).filter((path) => anonymousClassOf(path) === name)
  const hashing = open.filter((shape) => costOf(shape) === 'password').map(({ path }) => path)
  expect(routesOf('login')).toEqual(expect.arrayContaining([...hashing, '/api/auth/v1/login']))
  expect(routesOf('session')).toEqual(['/api/auth/v1/refresh', '/api/auth/v1/logout'])
  expect(routesOf('health').toSorted()).toEqual(['/healthz', '/metrics', '/readyz'])
  expect(routesOf('signed')).toHaveLength(1)
})

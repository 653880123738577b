import { expect, test } from 'vitest'
import { catalogue, type ProblemCode, problem } from '../../../src/core/kit/index.ts'

// Clients repeat a call only when the answer says so: a code that loses the word stops them, one that gains it makes them repeat for nothing.
const retryable: readonly ProblemCode[] = [
  'RATE_LIMITED',
  'UNAVAILABLE',
  'ACCOUNT_LOCKED',
  'OBJECT_STORE_UNAVAILABLE',
  'HOMESERVER_UNREACHABLE',
  'HOST_OFFLINE',
  'CLOCK_SKEW',
  'PULL_FAILED',
  'MODULE_SERVICE_FAILED',
  'REGISTRY_UNAVAILABLE',
  'DISK_FULL',
  'SNAPSHOT_FAILED',
  'SNAPSHOT_STORE_UNAVAILABLE',
  'DOCKER_UNAVAILABLE',
  'UNREACHABLE',
  'PAYMENTS_UNAVAILABLE',
  'LOGIN_PROVIDER_UNAVAILABLE',
]

test.each(Object.keys(catalogue) as ProblemCode[])('%s says whether a call may be repeated', (code) => {
  expect(problem(code, 'why').toBody().retryable).toBe(retryable.includes(code))
})

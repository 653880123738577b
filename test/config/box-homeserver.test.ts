import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { failureMemoryMs, maxFailures } from '../../src/core/sessions/index.ts'
import { packageRoot } from '../../src/node/index.ts'

type Rate = Readonly<{ per_second: number; burst_count: number }>
type Logins = Readonly<Record<'address' | 'account' | 'failed_attempts', Rate>>

async function template(): Promise<Logins> {
  const text = await readFile(packageRoot('config/box-template/synapse/homeserver.yaml'), 'utf8')
  return (parse(text.replace(/\{\{\w+\}\}/g, '1')) as { rc_login: Logins }).rc_login
}

test('the platform is never held up by the chat server before it locks an account itself', async () => {
  const { address, account, failed_attempts: failed } = await template()
  for (const { per_second, burst_count } of [address, account]) expect(Math.min(per_second, burst_count)).toBeGreaterThan(1000)
  // Strangers, and networks that a user is known from, have ten each.
  expect(failed.burst_count).toBeGreaterThanOrEqual(5 * maxFailures)
  expect((failed.per_second * 2 * failureMemoryMs) / 1000).toBeGreaterThanOrEqual(2 * maxFailures)
})

test('who holds a device of a user tries no more than some thousand passwords a day', async () => {
  const { failed_attempts: failed } = await template()
  expect(failed.burst_count + failed.per_second * 24 * 60 * 60).toBeLessThan(2000)
})

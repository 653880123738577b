import { expect, test } from 'vitest'
import { enrolAgent, newAgentKey } from '../../../src/agent/channel/index.ts'
import { chooseUrl } from '../../../src/cli/kit/connection.ts'
import { isLoopback, isProblem, secret } from '../../../src/core/kit/index.ts'
import { loadConfig } from '../../../src/daemon/config/index.ts'

const here = ['127.0.0.1', '127.1', '127.255.0.9', 'localhost', 'LOCALHOST', '[::1]', '2130706433', '0x7f.1']
const elsewhere = [
  '127.evil.example',
  '127.0.0.1.evil.example',

  'localhost.evil.example',
  '[::2]',
  '10.0.0.1',
  '1270.example',
]

test.each(here)('%s is this machine', (host) => {
  expect(isLoopback(new URL(`http://${host}/`))).toBe(true)
  expect(chooseUrl({ option: `http://${host}:8440` })).toMatch(/^http:/)
})

test.each(elsewhere)('%s may be another machine, so that no program sends a secret to it unencrypted', async (host) => {
  const url = `http://${host}:8440`
  expect(isLoopback(new URL(url))).toBe(false)
  expect(() => chooseUrl({ option: url })).toThrow(/unencrypted/)
  let isSent = false
  const fetch = async () => {
    isSent = true
    return new Response()
  }
  const enrolling = enrolAgent({ daemonUrl: url, agentVersion: '0.1.0', fetch }, await newAgentKey(), secret('token'))
  await expect(enrolling).rejects.toSatisfy((error: unknown) => isProblem(error, 'CONFIG_INVALID'))
  expect(isSent).toBe(false)
  expect(loadConfig({ env: { TENANTRY_PUBLIC_URL: url } }).production).toBe(true)
})

import { chmod, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readMetricsToken } from '../../../src/daemon/service/index.ts'
import { aFolder, anAgent, aRunningDaemon, loggedIn, type RunningDaemon } from '../../support/running-daemon.ts'

const token = 'a'.repeat(64)
const tokenFile = async (content: string, mode = 0o640) => {
  const path = join(await aFolder('metrics'), 'token')
  await writeFile(path, content)
  await chmod(path, mode)
  return path
}

describe('GET /metrics', () => {
  let [open, closed]: RunningDaemon[] = []
  beforeAll(async () => {
    open = await aRunningDaemon()
    closed = await aRunningDaemon({ env: { TENANTRY_METRICS_TOKEN_FILE: await tokenFile(`${token}\n`) } })
  })
  afterAll(() => Promise.all([open?.close(), closed?.close()]))

  const scrape = (daemon: RunningDaemon | undefined, authorization?: string) =>
    fetch(`${daemon?.url}/metrics`, { headers: { connection: 'close', ...(authorization ? { authorization } : {}) } })

  test('without a token file is open, and names no host', async () => {
    await anAgent(open as RunningDaemon, await loggedIn(open as RunningDaemon, 'operator'), 'host-1')
    const answer = await scrape(open)
    expect(answer.status).toBe(200)
    const text = await answer.text()
    expect(text).toContain('tenantry_hosts{state="online"} 1')
    expect(text).not.toMatch(/host-1|tenantry_host_|tenantry_box_(up|info|state)/)
  })

  test.each([undefined, `Bearer ${'b'.repeat(64)}`, `Bearer ${token}b`, `Basic ${token}`])(
    'refuses %s where there is one',
    async (wrong) => {
      const answer = await scrape(closed, wrong)
      expect(answer.status).toBe(401)
      expect(await answer.text()).not.toContain('tenantry_hosts')
    },
  )

  test('with the token has metrics per host too', async () => {
    await anAgent(closed as RunningDaemon, await loggedIn(closed as RunningDaemon, 'operator'), 'host-1')
    const answer = await scrape(closed, `Bearer ${token}`)
    expect(answer.headers.get('content-type')).toContain('version=0.0.4')
    const text = await answer.text()
    expect(text).toContain('tenantry_hosts{state="online"} 1')
    expect(text).toContain('tenantry_host_up{host="host-1"} 1')
  })
})

describe('a token file', () => {
  test('has one token', async () => {
    expect((await readMetricsToken({ tokenFile: await tokenFile(`${token}\n`) }))?.reveal()).toBe(token)
    expect(await readMetricsToken({})).toBeUndefined()
  })

  test.each([
    ['is missing', async () => '/nowhere/token', /\/nowhere\/token does not exist\. fix: \(umask 077; openssl rand/],
    ['can be read by others', () => tokenFile(token, 0o644), /can be read by others\. fix: chmod o= \//],
    ['is short', () => tokenFile('secret'), /one line of at least 32 characters\. fix: openssl rand -hex 32 > \//],
    ['has two lines', () => tokenFile(`${token}\n${token}`), /one line of at least 32 characters/],
    ['is a folder', () => aFolder('metrics'), /Cannot read the token file .* \(EISDIR\)\. fix: /],
  ])('that %s is refused', async (_, path, message) => {
    await expect(readMetricsToken({ tokenFile: await path() })).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringMatching(message),
    })
  })
})

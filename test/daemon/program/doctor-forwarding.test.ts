import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { isoIn, manualClock } from '../../../src/core/kit/index.ts'
import { loadConfig } from '../../../src/daemon/config/index.ts'
import { forwarding } from '../../../src/daemon/program/doctor-forwarding.ts'
import { aFolder } from '../../support/running-daemon.ts'

const clock = manualClock()
const hourMs = 60 * 60_000

type Given = Readonly<{ proxies?: string; url?: string; seen?: Readonly<{ peer: string; hoursAgo: number }> }>

async function found({ proxies = '', url = 'http://127.0.0.1:8440', seen }: Given) {
  const dataDir = await aFolder('doctor')
  const note = seen && { peer: seen.peer, header: 'x-forwarded-for', at: isoIn(clock, -seen.hoursAgo * hourMs) }
  if (note) await writeFile(join(dataDir, 'untrusted-forwarding.json'), JSON.stringify(note))
  const env = { TENANTRY_DATA_DIR: dataDir, TENANTRY_TRUSTED_PROXIES: proxies, TENANTRY_PUBLIC_URL: url }
  return forwarding({ clock }, loadConfig({ env }))
}

const https = 'https://platform.school.example'

test.each<[string, Given, string, string]>([
  ['nothing was sent, on this machine', {}, 'ok', 'no trusted proxies configured'],
  ['a proxy is trusted', { proxies: '10.0.3.7', url: https }, 'ok', 'trusted proxies: 10.0.3.7'],
  ['TLS ends at a proxy that is not trusted', { url: https }, 'warn', 'all users share its address'],
  ['a peer that is not trusted sent one', { seen: { peer: '10.0.3.7', hoursAgo: 2 } }, 'warn', '10.0.3.7 sent x-forwarded-for'],
  [
    'another than the trusted sent one',
    { proxies: '10.0.3.8', seen: { peer: '10.0.3.7', hoursAgo: 2 } },
    'warn',
    '10.0.3.7 sent x-forwarded-for',
  ],
  [
    'the one who sent it is trusted by now',
    { proxies: '10.0.3.0/24', seen: { peer: '10.0.3.7', hoursAgo: 2 } },
    'ok',
    'trusted proxies: 10.0.3.0/24',
  ],
  ['so is its spelling as IPv6', { proxies: '10.0.3.0/24', seen: { peer: '::ffff:10.0.3.7', hoursAgo: 2 } }, 'ok', 'trusted proxies: '],
  ['it is long ago', { seen: { peer: '10.0.3.7', hoursAgo: 8 * 24 } }, 'ok', 'no trusted proxies configured'],
  ['half of the world is trusted', { proxies: '128.0.0.0/1' }, 'warn', 'every address is a trusted proxy'],
  ['all that IPv6 has is trusted', { proxies: '2000::/3' }, 'warn', 'every address is a trusted proxy'],
])('%s', async (_, given, state, says) => {
  expect(await found(given)).toMatchObject({ name: 'forwarding', state, says: expect.stringContaining(says) })
})

test('the fix names the setting', async () => {
  const { mend } = await found({ seen: { peer: '10.0.3.7', hoursAgo: 2 } })
  expect(mend).toContain('TENANTRY_TRUSTED_PROXIES=10.0.3.7')
})

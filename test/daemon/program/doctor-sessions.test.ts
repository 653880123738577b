import { createServer } from 'node:http'
import { expect, onTestFinished, test } from 'vitest'
import { manualClock } from '../../../src/core/kit/index.ts'
import { loadConfig } from '../../../src/daemon/config/index.ts'
import { storeSessions } from '../../../src/daemon/program/doctor-sessions.ts'
import { freePort } from '../../support/free-port.ts'

const good = '<AccessKeyId>TEMP</AccessKeyId><SecretAccessKey>temporary</SecretAccessKey><SessionToken>a token</SessionToken>'

async function aService(): Promise<string> {
  const port = await freePort()
  const server = createServer((_, answer) => answer.setHeader('connection', 'close').end(good))
  await new Promise<void>((ready) => server.listen(port, '127.0.0.1', ready))
  onTestFinished(() => void server.close())
  return `http://127.0.0.1:${port}`
}

const looked = async (env: Record<string, string>) => {
  const settings = {
    TENANTRY_BACKUP_KEY: Buffer.alloc(32, 9).toString('base64'),
    TENANTRY_SNAPSHOT_STORE: 's3://s3.example/bucket',
    TENANTRY_SNAPSHOT_STORE_CREDENTIALS_ACCESS_KEY_ID: 'the daemons own',
    TENANTRY_SNAPSHOT_STORE_CREDENTIALS_SECRET_ACCESS_KEY: 'hunter2',
    TENANTRY_SNAPSHOT_SESSIONS_ENDPOINT: await aService(),
  }
  return storeSessions({ clock: manualClock() }, loadConfig({ env: { ...settings, ...env } }))
}

test('sessions that outlast every snapshot are well', async () => {
  const found = await looked({})
  expect(found).toMatchObject([{ state: 'ok', says: expect.stringMatching(/12 h each$/) }])
  expect(JSON.stringify(found)).not.toMatch(/hunter2|temporary/)
})

test('sessions that end before the longest snapshot may are doubtful', async () => {
  expect(await looked({ TENANTRY_SNAPSHOT_SESSIONS_HOURS: '1' })).toMatchObject([
    {
      state: 'warn',
      says: expect.stringMatching(/after 1 h, and one snapshot or restore may take 6 h/),
      mend: expect.stringMatching(/_HOURS/),
    },
  ])
  const short = { TENANTRY_SNAPSHOT_SESSIONS_HOURS: '1', TENANTRY_SNAPSHOTS_DEADLINE_MS: '3600000' }
  expect(await looked(short)).toMatchObject([{ state: 'ok' }])
})

import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { manualClock } from '../../../src/core/kit/index.ts'
import { runProgram } from '../../../src/daemon/program/run-program.ts'
import { systemRandom } from '../../../src/node/index.ts'

type Check = Readonly<{ name: string; state: string; says: string; fix?: string }>

async function emergencies(settings: Readonly<Record<string, string>>): Promise<Check | undefined> {
  const out: string[] = []
  await runProgram(['doctor', '--json'], {
    env: { TENANTRY_DATA_DIR: await mkdtemp(join(tmpdir(), 'tenantryd-')), ...settings },
    stdin: (async function* () {})(),
    stdout: { write: (text) => out.push(text) },
    stderr: { write: () => undefined },
    signal: new AbortController().signal,
    clock: manualClock(),
    random: systemRandom,
  })
  return (JSON.parse(out.join('')).checks as Check[]).find(({ name }) => name === 'emergencies')
}

const key = (byte: number) => Buffer.alloc(32, byte).toString('base64')
const token = { TENANTRY_APPROVAL_TOKEN_SHA256: 'a'.repeat(64) }
const backup = { TENANTRY_BACKUP_KEY: key(1), TENANTRY_SNAPSHOT_STORE: 'file:/snapshots' }

test.each([
  [{}, 'warn', /^Emergencies cannot be created: no approval token, no backup key or snapshot store, no separate recovery key/],
  [{ ...backup, TENANTRY_RECOVERY_KEY: key(2) }, 'warn', /^Emergencies cannot be created: no approval token$/],
  [{ ...token, ...backup, TENANTRY_RECOVERY_KEY: key(1) }, 'warn', /^Emergencies can be created, but there is no separate recovery key/],
  [{ ...token, ...backup, TENANTRY_RECOVERY_KEY: key(2) }, 'ok', /^approval token, backup and recovery key set$/],
])('the doctor says what emergencies lack: %j', async (settings, state, says) => {
  expect(await emergencies(settings)).toMatchObject({ state, says: expect.stringMatching(says) })
})

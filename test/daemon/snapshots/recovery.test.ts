import { execFileSync } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { resticSnapshots } from '../../../src/agent/snapshots/index.ts'
import { manualClock, type TenantId } from '../../../src/core/kit/index.ts'
import { runProgram } from '../../../src/daemon/program/run-program.ts'
import { snapshotRepository } from '../../../src/daemon/snapshots/index.ts'
import { systemRandom } from '../../../src/node/index.ts'
import { resticProgram } from '../../agent/snapshots/restic-program.ts'

const program = resticProgram()
const tenantId = 'ten_north' as TenantId
const key = (fill: number) => Buffer.alloc(32, fill).toString('base64')

/** A tenant's repository with one snapshot, created by an agent with the data from the daemon. */
async function aSnapshot() {
  const folder = await mkdtemp(join(tmpdir(), 'tenantry-recovery-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const settings = { backupKey: key(7), recoveryKey: key(8), snapshotStore: `file:${join(folder, 'store')}` }
  const given = snapshotRepository(settings, tenantId)
  await writeFile(join(folder, 'letter'), 'what must not be lost')
  const agent = resticSnapshots({ program: program as string, owner: folder, cacheFolder: join(folder, 'cache') })
  await agent.prepare({ ...given, mayCreate: true })
  const request = { tier: 'daily', commandId: 'cmd_1', slug: 'north', paths: [join(folder, 'letter')] } as const
  return { folder, settings, facts: await agent.take(given, request) }
}

/** `tenantryd` on a machine with nothing but `env`. */
async function tenantryd(line: readonly string[], env: Record<string, string>): Promise<string> {
  const said: string[] = []
  const [stdin, signal] = [(async function* () {})(), new AbortController().signal]
  const [stdout, stderr] = [{ write: (text: string) => said.push(text) }, { write: () => undefined }]
  expect(await runProgram(line, { env, stdin, stdout, stderr, signal, clock: manualClock(), random: systemRandom })).toBe(0)
  return said.join('')
}

test.skipIf(!program)(
  'a tenant’s data is restored with restic and the recovery key alone, without daemon, database and backup key',
  async () => {
    const { folder, settings, facts } = await aSnapshot()
    await writeFile(join(folder, 'recovery'), `${settings.recoveryKey}\n`)
    const line = ['recovery-password', tenantId, '--key-file', join(folder, 'recovery'), '--json']
    const [opened] = JSON.parse(await tenantryd(line, { TENANTRY_SNAPSHOT_STORE: settings.snapshotStore }))
    const env = { PATH: process.env.PATH, HOME: folder, RESTIC_REPOSITORY: opened.repository, RESTIC_PASSWORD: opened.password }
    const restic = (...args: string[]) => execFileSync(program as string, args, { env, encoding: 'utf8' })
    expect(JSON.parse(restic('snapshots', '--json'))).toMatchObject([
      { id: facts.id, tags: expect.arrayContaining(['slug:north', 'tier:daily']) },
    ])
    restic('restore', 'latest', '--target', join(folder, 'back'))
    expect(await readFile(join(folder, 'back', folder, 'letter'), 'utf8')).toBe('what must not be lost')
  },
)

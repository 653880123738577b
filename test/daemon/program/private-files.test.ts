import { chmod, mkdtemp, readdir, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { expect, onTestFinished, test, vi } from 'vitest'
import { openDatabase } from '../../../src/daemon/db/index.ts'
import { main } from '../../../src/daemon/program/main.ts'

/** A data folder that was there before, with the usual mode of a folder. */
async function openFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'open-folder-'))
  await chmod(folder, 0o755)
  return folder
}

async function modesIn(folder: string): Promise<Record<string, string>> {
  const modes: Record<string, string> = {}
  for (const name of (await readdir(folder)).sort()) modes[name] = ((await stat(join(folder, name))).mode & 0o777).toString(8)
  return modes
}

/** The usual umask of a shell, until the end of the test. */
function usualUmask(): void {
  const before = process.umask(0o022)
  onTestFinished(() => void process.umask(before))
}

test('a database in a folder that others may read is for its own user only', async () => {
  usualUmask()
  const folder = await openFolder()
  const { db, close } = openDatabase(`sqlite:${join(folder, 'tenantry.db')}`)
  onTestFinished(close)
  await sql`create table notes (id text)`.execute(db)
  expect(await modesIn(folder)).toEqual({ 'tenantry.db': '600', 'tenantry.db-shm': '600', 'tenantry.db-wal': '600' })
})

test('a database that others could read is closed to them when it is opened', async () => {
  usualUmask()
  const folder = await openFolder()
  const file = join(folder, 'tenantry.db')
  await writeFile(file, '', { mode: 0o644 })
  await writeFile(`${file}-wal`, '', { mode: 0o644 })
  const { close } = openDatabase(`sqlite:${file}`)
  onTestFinished(close)
  expect(Object.values(await modesIn(folder)).filter((mode) => mode !== '600')).toEqual([])
})

test('tenantryd creates no file that others may read', async () => {
  usualUmask()
  const signals = ['SIGINT', 'SIGTERM'] as const
  const before = new Set<unknown>(signals.flatMap((signal) => process.listeners(signal)))
  const argv = process.argv
  process.argv = [...argv.slice(0, 2), '--version']
  const printed = vi.spyOn(process.stdout, 'write').mockReturnValue(true)
  onTestFinished(() => {
    process.argv = argv
    printed.mockRestore()
    for (const signal of signals) for (const listener of process.listeners(signal)) if (!before.has(listener)) process.off(signal, listener)
  })
  expect(await main()).toBe(0)
  expect(process.umask()).toBe(0o077)
})

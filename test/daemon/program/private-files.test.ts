import { chmod, mkdtemp, readdir, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { openDatabase } from '../../../src/daemon/db/index.ts'
import { freePort } from '../../support/free-port.ts'
import { realDaemon } from '../../support/real-daemon.ts'

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

test('a daemon in a folder that others may read creates no file that they may read', async () => {
  const tenantryd = await realDaemon()
  const folder = await openFolder()
  const daemon = tenantryd(['serve'], { TENANTRY_DATA_DIR: folder, TENANTRY_LISTEN: `127.0.0.1:${await freePort()}` })
  onTestFinished(() => daemon.stop('SIGKILL'))
  await daemon.says('tenantryd is ready')
  const { 'checkpoint.key.pub': _public, ...modes } = await modesIn(folder)
  expect(modes).toMatchObject({ 'tenantry.db': '600', 'tenantry.db-wal': '600', 'tenantry.db-shm': '600', 'secret.key': '600' })
  expect(Object.entries(modes).filter(([, mode]) => !/00$/.test(mode))).toEqual([])
})

test('a database that others could read is closed to them when it is opened, and stays as it is', async () => {
  const folder = await openFolder()
  const file = join(folder, 'tenantry.db')
  await writeFile(file, '', { mode: 0o644 })
  await writeFile(`${file}-wal`, '', { mode: 0o644 })
  const { close } = openDatabase(`sqlite:${file}`)
  onTestFinished(close)
  expect(Object.values(await modesIn(folder)).filter((mode) => mode !== '600')).toEqual([])
})

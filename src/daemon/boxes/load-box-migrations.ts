import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type BoxMigration, readBoxMigrations } from '../../core/boxes/index.ts'

/** Reads the folder once, at the start of the daemon: with a gap or a text that must not run in boxes it does not start (CONFIG_INVALID). */
export async function loadBoxMigrations(folder: string): Promise<readonly BoxMigration[]> {
  const names = (await readdir(folder)).filter((file) => !file.startsWith('.')).sort()
  const files = await Promise.all(names.map(async (file) => ({ file, text: await readFile(join(folder, file), 'utf8') })))
  return readBoxMigrations(files)
}

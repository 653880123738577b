import { mkdtemp, realpath, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { readHostFile } from '../../../src/agent/adoption/survey.ts'
import { readPlainFile } from '../../../src/agent/boxes/index.ts'

async function aFile(content: Buffer): Promise<string> {
  const file = join(await realpath(await mkdtemp(join(tmpdir(), 'tenantry-host-file-'))), 'compose.yaml')
  await writeFile(file, content)
  return file
}

test('a config file that is not UTF-8 is refused: an edit of it would damage its letters', async () => {
  const file = await aFile(Buffer.from('services:\n  # Türen\n  edge: {}\n', 'latin1'))
  const refused = { code: 'FOLDER_UNSAFE', message: expect.stringContaining('line 2 is not UTF-8. fix:') }
  await expect(readHostFile(file)).rejects.toMatchObject(refused)
  await expect(readPlainFile(dirname(file), 'compose.yaml'), 'of a snapshot').rejects.toMatchObject(refused)
})

test('a byte order mark is part of the text, which is compared with the file', async () => {
  expect((await readHostFile(await aFile(Buffer.from('\ufeffservices: {}\n'))))?.text).toBe('\ufeffservices: {}\n')
})

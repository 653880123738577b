import { existsSync } from 'node:fs'
import { chmod, chown, link, mkdir, mkdtemp, realpath, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { assertSafeFolder } from '../../../src/agent/boxes/index.ts'
import type { Project } from '../../../src/agent/ports/index.ts'

const asRoot = process.getuid?.() === 0

type Whole = Required<Omit<Project, 'extraFile'>>

async function aFolder(): Promise<Whole> {
  const folder = join(await realpath(await mkdtemp(join(tmpdir(), 'tenantry-folder-'))), 'oak')
  await mkdir(folder, { mode: 0o700 })
  const project = { name: 'oak', folder, composeFile: join(folder, 'compose.yaml'), envFile: join(folder, '.env') }
  await writeFile(project.composeFile, 'services: {}', { mode: 0o600 })
  await writeFile(project.envFile, '', { mode: 0o600 })
  return project
}

test("a folder that is the owner's alone is safe, in a shared /tmp too", async () => {
  await expect(assertSafeFolder(await aFolder())).resolves.toBeUndefined()
})

describe('refused', () => {
  const tricks: [string, (project: Whole) => Promise<unknown>, RegExp][] = [
    ['a folder that everybody can write', ({ folder }) => chmod(folder, 0o777), /writable by everyone/],
    ['a folder with the sticky bit that everybody can write', ({ folder }) => chmod(folder, 0o1777), /writable by everyone/],
    ['a compose file that everybody can write', ({ composeFile }) => chmod(composeFile, 0o666), /compose\.yaml is writable by everyone/],
    [
      'an extra file that everybody can write',
      async ({ folder }) => {
        await writeFile(join(folder, 'compose.extra.yaml'), '')
        await chmod(join(folder, 'compose.extra.yaml'), 0o666)
      },
      /compose\.extra\.yaml is writable by everyone/,
    ],
    ['a .env that everybody can write', ({ envFile }) => chmod(envFile, 0o602), /\.env is writable by everyone/],
    ['a folder above that everybody can write', ({ folder }) => chmod(join(folder, '..'), 0o777), /writable by everyone/],
    ['a compose file that is a symbolic link', ({ composeFile }) => swap(composeFile, symlink), /symbolic link/],
    ['a .env that is a symbolic link', ({ envFile }) => swap(envFile, symlink), /symbolic link/],
    ['a compose file with a hard link', ({ composeFile }) => link(composeFile, `${composeFile}.second`), /hard link/],
    ['a compose file that is a folder', ({ composeFile }) => rm(composeFile).then(() => mkdir(composeFile)), /not a regular file/],
    ['no compose file', ({ composeFile }) => rm(composeFile), /does not exist/],
    ['no folder', ({ folder }) => rm(folder, { recursive: true }), /does not exist/],
    ['a folder that is a symbolic link', ({ folder }) => swap(folder, symlink), /symbolic link/],
  ]
  test.each(tricks)('%s', async (_, trick, reason) => {
    const project = await aFolder()
    await trick(project)
    const extraFile = join(project.folder, 'compose.extra.yaml')
    const whole = existsSync(extraFile) ? { ...project, extraFile } : project
    await expect(assertSafeFolder(whole)).rejects.toMatchObject({ code: 'FOLDER_UNSAFE', message: expect.stringMatching(reason) })
  })

  test('a compose file that lies elsewhere', async () => {
    const [project, other] = [await aFolder(), await aFolder()]
    await expect(assertSafeFolder({ ...project, composeFile: other.composeFile })).rejects.toMatchObject({ code: 'FOLDER_UNSAFE' })
  })

  test.runIf(asRoot)("files of another user, and files that a group other than root's can write", async () => {
    const foreign = await aFolder()
    await chown(foreign.composeFile, 1234, 1234)
    await expect(assertSafeFolder(foreign)).rejects.toMatchObject({ code: 'FOLDER_UNSAFE', message: expect.stringMatching(/user 1234/) })
    await expect(assertSafeFolder(foreign, 1234)).resolves.toBeUndefined()
    const shared = await aFolder()
    await chown(shared.folder, 0, 1234)
    await chmod(shared.folder, 0o770)
    await expect(assertSafeFolder(shared)).rejects.toMatchObject({ code: 'FOLDER_UNSAFE', message: expect.stringMatching(/group 1234/) })
  })
})

async function swap(path: string, put: typeof symlink) {
  await rename(path, `${path}.real`)
  await put(`${path}.real`, path)
}

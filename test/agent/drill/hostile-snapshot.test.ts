import { readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { drill } from '../../../src/agent/drill/index.ts'
import { aContext, address, type Deps, twoHosts } from '../move/a-move.ts'
import { snapshotOfBox } from '../move/a-snapshot.ts'
import { moving } from '../simulated/boxes.ts'

// The snapshot may be of a host that the box has left, and which is compromised.

/** A drill of a snapshot whose files the attack changed, with the files of the copy while it ran. */
async function drilled(attack: (box: string) => Promise<unknown>) {
  const { old, box, clock } = await twoHosts()
  const { snapshotId } = await snapshotOfBox(old, box, 'daily')
  const deps = await old.agent()
  const snapshots: Deps['snapshots'] = {
    ...deps.snapshots,
    restore: async (repository, { id, path, into }, signal) => {
      await deps.snapshots.restore(repository, { id, path, into }, signal)
      if (into.endsWith('/box')) await attack(into)
    },
  }
  let copy: { compose: Record<string, Record<string, Record<string, unknown>>>; config: string } | undefined
  const servers: Deps['servers'] = {
    ...deps.servers,
    createTemporaryAccount: async (at, secret, signal) => {
      const config = await readFile(join(at.project.folder, 'synapse/homeserver.yaml'), 'utf8')
      copy = { compose: parse(await readFile(at.project.composeFile, 'utf8')), config }
      return deps.servers.createTemporaryAccount(at, secret, signal)
    },
  }
  const steps: string[] = []
  const context = aContext('drill-1', { progress: ({ step, detail }) => void steps.push(`${step}: ${detail ?? ''}`) })
  const payload = { ...address, ownershipEpoch: 1, snapshotId, snapshotSha256: null, deadlineMs: 30 * 86_400_000 }
  const result = await moving(clock, () => drill({ ...deps, snapshots, servers })(context, payload), 1_000)
  return { result, copy, steps }
}

const edited = async (box: string, path: string, edit: (text: string) => string) =>
  writeFile(join(box, path), edit(await readFile(join(box, path), 'utf8')))

test('the copy is of the template of its own host: user, entrypoint, mounts and modules of the snapshot have no effect', async () => {
  const clean = await drilled(async () => undefined)
  const hostile = await drilled(async (box) => {
    await edited(box, 'compose.yaml', (text) =>
      text
        .replace('\n  minio:\n', '\n  minio:\n    user: root\n    entrypoint: [/bin/sh, -c, reboot]\n    privileged: true\n')
        .replace('- ./synapse:/data:ro', '- ./synapse:/data:ro\n      - /:/host'),
    )
    await edited(box, 'synapse/homeserver.yaml', (text) => `${text}\nmodules: [{ module: os.system }]\n`)
  })
  expect(hostile.result).toMatchObject({ ok: true, error: null })
  expect(hostile.copy?.compose.services).toEqual(clean.copy?.compose.services)
  expect(Object.keys(hostile.copy?.compose.services?.minio ?? {})).not.toContain('user')
  expect(hostile.copy?.config).not.toContain('modules')
  expect(hostile.steps.join('\n')).toMatch(/files: not in the copy: .*services\.synapse\.volumes at \/host .*services\.minio\.user/)
})

test('a link in the snapshot is refused', async () => {
  const { result } = await drilled(async (box) => {
    await rm(join(box, 'synapse'), { recursive: true })
    await symlink('/etc', join(box, 'synapse'))
  })
  expect(result).toMatchObject({
    ok: false,
    error: { code: 'FOLDER_UNSAFE', message: expect.stringMatching(/synapse is a symbolic link/) },
  })
})

test('media that do not fit the template fail the drill by name', async () => {
  const { result } = await drilled((box) => edited(box, 'compose.yaml', (text) => text.replace('- media:/media', '- media:/data/media')))
  expect(result).toMatchObject({
    ok: false,
    error: { code: 'COMPOSE_INVALID', message: expect.stringMatching(/a named volume at \/media/) },
  })
})

test('an observed box without secrets of ours is drilled with new ones', async () => {
  const { result, copy } = await drilled(async (box) => rm(join(box, 'secrets/box.json')))
  expect(result).toMatchObject({ ok: true })
  expect(copy?.config).toMatch(/macaroon_secret_key: "?[0-9a-f]{64}/)
})

test.each(['synapse', 'minio'])('a snapshot without the data of %s proves nothing', async (service) => {
  const { result } = await drilled(async (box) => {
    const path = join(box, '..', 'dump', 'manifest.json')
    const manifest = JSON.parse(await readFile(path, 'utf8'))
    manifest.paths.data = manifest.paths.data.filter((data: { service: string }) => data.service !== service)
    await writeFile(path, JSON.stringify(manifest))
  })
  expect(result).toMatchObject({
    ok: false,
    error: { code: 'RESTORE_FAILED', message: expect.stringContaining(`no volume of ${service}`) },
  })
})

import { chmod, mkdtemp, readFile, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { tenantry } from '../../support/command-line.ts'

const [synapse, edge] = ['registry.example/synapse:v1.163.2', 'registry.example/edge:1.28']
const sum = (sign: string) => `sha256:${sign.repeat(64)}`
const text = '# reviewed by anna\nimages:\n  edge: registry.example/edge:1.28 # pinned by tag\ntiers: {}\n'

const answers = (...images: object[]) => ({ 'POST /api/admin/v1/manifest/resolve': { images } })
const known = { image: synapse, digest: sum('a'), from: 'registry', askedFrom: 'amsel', confirmedBy: 'sperling' }

async function manifestFile(): Promise<string> {
  const file = join(await mkdtemp(join(tmpdir(), 'manifest-')), 'manifest.yaml')
  await writeFile(file, text)
  await chmod(file, 0o640)
  return file
}

test('the digests are written into the manifest file; its comments and mode stay', async () => {
  const file = await manifestFile()
  const ran = await tenantry(['manifest', 'resolve', file], {
    answers: answers({ ...known, image: edge, digest: sum('b') }, known),
    columns: 160,
  })
  expect([ran.exit, ran.stderr]).toEqual([0, ''])
  expect(ran.asked[0]?.body).toEqual({ manifest: { images: { edge }, tiers: {} } })
  expect(await readFile(file, 'utf8')).toBe(`${text}digests:\n  ${edge}: ${sum('b')}\n  ${synapse}: ${sum('a')}\n`)
  expect((await stat(file)).mode & 0o777).toBe(0o640)
  expect(ran.stdout).toContain(`${synapse}  ${sum('a')}  amsel sperling`)
  expect(ran.stdout.replace(/\s+/g, ' ')).toContain(`2 digests written to ${file}. Next: tenantry manifest apply ${file}`)
  await tenantry(['manifest', 'resolve', file], { answers: answers(known) })
  expect(await readFile(file, 'utf8')).toBe(`${text}digests:\n  ${synapse}: ${sum('a')}\n`)
})

test('a manifest from stdin is printed with its digests', async () => {
  const ran = await tenantry(['manifest', 'resolve', '-'], { answers: answers(known), stdin: text })
  expect([ran.exit, ran.stdout]).toEqual([0, `${text}digests:\n  ${synapse}: ${sum('a')}\n`])
})

test('an image that hosts resolve differently, or not at all, leaves the file unchanged', async () => {
  const file = await manifestFile()
  const disputed = { image: synapse, digest: null, from: 'disputed', why: `amsel: ${sum('a')}; sperling: ${sum('b')}` }
  const unresolved = { image: edge, digest: null, from: 'first-pull' }
  const ran = await tenantry(['manifest', 'resolve', file], { answers: answers(disputed, unresolved) })
  expect(ran.exit).toBe(5)
  expect(ran.stderr).toContain(`${synapse} (amsel: ${sum('a')}; sperling: ${sum('b')}); ${edge} (no host could be asked)`)
  expect(await readFile(file, 'utf8')).toBe(text)
})

test('a digest that no second host confirmed is written with a warning', async () => {
  const file = await manifestFile()
  const ran = await tenantry(['manifest', 'resolve', file], { answers: answers({ ...known, confirmedBy: null }) })
  expect([ran.exit, ran.stderr.replace(/\s+/g, ' ')]).toEqual([0, `Only amsel resolved ${synapse}; no second host confirmed the digest. `])
  expect(await readFile(file, 'utf8')).toContain(sum('a'))
})

import { readdir, readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { isProblem } from '../../../src/core/kit/index.ts'
import { decodeText } from '../../../src/node/index.ts'
import { onBothDialects } from '../../support/databases.ts'
import { aPeopleWorld } from '../../support/people-world.ts'

const folders = ['csv-cases', 'school-exports'].map((name) => new URL(`../../fixtures/${name}/`, import.meta.url))

/** An import as text, or its problem. */
const resultOf = (call: Promise<Readonly<{ lines: readonly unknown[]; counts: unknown; notes: readonly string[] }>>) =>
  call.then(
    ({ lines, counts, notes }) => JSON.stringify({ lines, counts, notes }, undefined, 1),
    (error) => (isProblem(error) ? `${error.code} ${error.message}` : String(error)),
  )

onBothDialects('an import by the administration of a tenant', (fresh) => {
  test('reads every file as the import of operators does', async () => {
    const world = await aPeopleWorld(await fresh())
    const { api } = await world.aUser('boss', ['tenant-admin'])
    const files = (await Promise.all(folders.map(async (folder) => (await readdir(folder)).map((name) => new URL(name, folder))))).flat()
    const results = []
    for (const file of files) {
      const bytes = await readFile(file)
      const body = { dryRun: true, ignoreColumns: true }
      const theirs = await resultOf(api.importPeople({ body: { ...body, file: bytes.toString('base64') } }))
      const decoded = await decodeText(bytes)
      if (decoded)
        expect(theirs).toBe(await resultOf(world.operator.importUsers({ params: { slug: 'acme' }, body: { ...body, csv: decoded.text } })))
      else expect(theirs).toMatch(/VALIDATION .*encoding is not recognised/)
      results.push(theirs)
    }
    expect([files.length > 35, results.filter((result) => result.includes('would_create')).length > 20]).toEqual([true, true])
  })

  test('of a file in a named encoding; neither or both of text and file are refused', async () => {
    const world = await aPeopleWorld(await fresh())
    const { api } = await world.aUser('boss', ['tenant-admin'])
    const file = (await readFile(new URL('dos.csv', folders[1]))).toString('base64')
    const report = await api.importPeople({ body: { file, encoding: 'cp850', dryRun: true } })
    expect([report.encoding, report.lines[0]?.displayName]).toEqual(['cp850', 'Jörg Müller'])
    for (const body of [{ dryRun: true }, { dryRun: true, csv: 'username\n', file }, { dryRun: true, file, encoding: 'klingon' }])
      expect(await world.outcome(api.importPeople({ body }))).toBe('VALIDATION')
  })
})

import { createHash } from 'node:crypto'
import { createRequire } from 'node:module'
import { expect, test } from 'vitest'
import { scriptRuns } from '../../../src/core/reports/index.ts'
import { cleanUpFiles } from '../../../src/daemon/files/erase-files.ts'
import { prepareFile, readContent } from '../../../src/daemon/files/index.ts'
import { storeReport } from '../../../src/daemon/reports/index.ts'
import { renderPdf } from '../../../src/daemon/reports/render-pdf.ts'
import { onBothDialects } from '../../support/databases.ts'
import { aFilesWorld } from '../../support/files-world.ts'
import { aGate } from '../../support/held-up.ts'
import { codeOf } from '../../support/tasks-world.ts'

const at = '2026-01-05T02:00:00.000Z'

onBothDialects('reports', (fresh) => {
  test('a report is stored once as Markdown and PDF, whatever fails in between', async () => {
    const room = await aFilesWorld(await fresh())
    const space = await room.aSpace(await room.aUser('anna'))
    const report = { tenantId: room.tenantId, spaceId: space.id, key: 'e1', title: 'Alarm 1/2', markdown: '- **Türen** zu', createdAt: at }
    const broken = { ...room, objects: { ...room.objects, put: () => Promise.reject(new Error('no disk')) } }
    await expect(storeReport(broken, { ...report, createdBy: 'automation' })).rejects.toThrow('no disk')
    const made = await storeReport(room, { ...report, createdBy: 'automation' })
    expect(await storeReport(room, { ...report, createdBy: 'automation' })).toEqual(made)
    await room.clock.advance(25 * 3_600_000)
    await cleanUpFiles(room)
    const files = (await room.rows()).toSorted((a, b) => (a.name < b.name ? -1 : 1))
    expect(files.map(({ name, state, shown_as }) => ({ name, state, shown_as }))).toEqual([
      { name: 'Alarm 1-2.md', state: 'ready', shown_as: null },
      { name: 'Alarm 1-2.pdf', state: 'ready', shown_as: 'application/pdf' },
    ])
    await room.agree()
    const created = (await room.events()).filter((event) => event.type === 'file.created')
    expect(created).toHaveLength(2)
  })

  test('of two attempts at once one makes the report, with its own bytes, and nothing of the other stays', async () => {
    const room = await aFilesWorld(await fresh())
    const space = await room.aSpace(await room.aUser('anna'))
    const report = { tenantId: room.tenantId, spaceId: space.id, key: 'e1', title: 'Alarm', createdBy: 'automation', createdAt: at }
    // The first is held with its bytes on the way until the second is done.
    const gate = aGate()
    const put: typeof room.objects.put = async (key, content) => {
      await gate.pass()
      return room.objects.put(key, content)
    }
    const slow = storeReport({ ...room, objects: { ...room.objects, put } }, { ...report, markdown: 'first' })
    await gate.reached
    const made = await storeReport(room, { ...report, markdown: 'second' })
    gate.open()
    expect(await slow).toEqual(made)
    const kept = (await room.rows()).find(({ id }) => id === made.markdownFileId)
    const bytes = await readContent(room, { tenantId: room.tenantId, objectId: kept?.object_id ?? '', bytes: kept?.bytes ?? 0 })
    expect([bytes?.toString(), kept?.sha256]).toEqual(['second', createHash('sha256').update('second').digest('hex')])
    await room.clock.advance(25 * 3_600_000)
    await cleanUpFiles(room)
    await room.agree()
    expect((await room.rows()).map(({ state }) => state)).toEqual(['ready', 'ready'])
  })

  test('an attempt that a later one replaced is refused until that one is done', async () => {
    const room = await aFilesWorld(await fresh())
    const space = await room.aSpace(await room.aUser('anna'))
    const file = {
      id: 'fil_1',
      tenantId: room.tenantId,
      spaceId: space.id,
      name: 'a.md',
      contentType: 'text/plain',
      createdBy: 'automation',
    }
    const first = await prepareFile(room, { ...file, content: Buffer.from('first') })
    const second = await prepareFile(room, { ...file, content: Buffer.from('second') })
    expect(await codeOf(room.db.transaction().execute(first))).toBe('UNAVAILABLE')
    expect((await room.db.transaction().execute(second)).bytes).toBe(6)
    expect((await room.db.transaction().execute(first)).bytes).toBe(6)
  })

  test('a space of another tenant and a full quota take no report', async () => {
    const room = await aFilesWorld(await fresh(), 10)
    const space = await room.aSpace(await room.aUser('anna'))
    const report = {
      spaceId: space.id,
      key: 'e1',
      title: 'Alarm',
      markdown: 'long enough for the quota',
      createdAt: at,
      createdBy: 'automation',
    }
    expect(await codeOf(storeReport(room, { ...report, tenantId: 'ten_other' }))).toBe('NOT_FOUND')
    expect(await codeOf(storeReport(room, { ...report, tenantId: room.tenantId }))).toBe('QUOTA_EXCEEDED')
    expect(await room.rows()).toEqual([])
  })

  test('a report whose PDF exceeds the quota leaves no Markdown file', async () => {
    const room = await aFilesWorld(await fresh(), 1_000)
    const space = await room.aSpace(await room.aUser('anna'))
    const report = { spaceId: space.id, key: 'e1', title: 'Alarm', markdown: 'short', createdAt: at, createdBy: 'automation' }
    expect(await codeOf(storeReport(room, { ...report, tenantId: room.tenantId }))).toBe('QUOTA_EXCEEDED')
    expect((await room.rows()).filter(({ state }) => state === 'ready')).toEqual([])
    expect((await room.events()).filter(({ type }) => type === 'file.created')).toEqual([])
  })
})

test('the PDF embeds its fonts, numbers its pages and is the same every time', async () => {
  const markdown = `# Łódź\n\nΩμέγα Привет 漢\n\n${'- entry\n'.repeat(120)}`
  const pdf = await renderPdf({ title: 'Übung', markdown, createdAt: at })
  expect(pdf.subarray(0, 5).toString()).toBe('%PDF-')
  expect(pdf.includes('/FontFile')).toBe(true)
  expect(pdf.includes('/Helvetica')).toBe(false)
  expect(pdf.toString('latin1').match(/\/Type \/Page\b/g)?.length).toBe(3)
  expect(await renderPdf({ title: 'Übung', markdown, createdAt: at })).toEqual(pdf)
})

test('the parts of the font have every character that they are used for', async () => {
  const require = createRequire(import.meta.url)
  const fontkit = createRequire(require.resolve('pdfkit'))('fontkit')
  const has = (script: string) => {
    const font = fontkit.openSync(require.resolve(`@fontsource/noto-sans/files/noto-sans-${script}-700-normal.woff`))
    return (text: string) => [...text].every((one) => font.hasGlyphForCodePoint(one.codePointAt(0)))
  }
  const known = new Map<string, (text: string) => boolean>()
  for (let code = 0x20; code < 0x2600; code++) {
    if (code >= 0xd800 && code <= 0xdfff) continue
    for (const { script, text } of scriptRuns(String.fromCodePoint(code))) {
      const check = known.get(script) ?? has(script)
      known.set(script, check)
      expect.soft(check(text), `${code.toString(16)} in ${script}`).toBe(true)
    }
  }
})

test('a report of one long line lets other requests run between its pages', async () => {
  const markdown = 'A sentence of a report that never ends. '.repeat(25_000)
  let turns = 0
  let running = true
  const watch = (async () => {
    while (running) {
      await new Promise(setImmediate)
      turns++
    }
  })()
  await renderPdf({ title: 'Long', markdown, createdAt: at })
  running = false
  await watch
  expect(turns).toBeGreaterThan(100)
})

test.each([
  ['lines', 'x\n\n'],
  ['bold words', '**a** '],
  ['scripts', 'aж'],
])(
  'the PDF of a report of too many %s is cut, and other requests run between its lines',
  async (_, unit) => {
    let [turns, running] = [0, true]
    const watch = (async () => {
      for (; running; turns++) await new Promise(setImmediate)
    })()
    const pdf = await renderPdf({ title: 'Long', markdown: unit.repeat(40_000), createdAt: at })
    running = false
    await watch
    expect(turns).toBeGreaterThan(100)
    const cut = await renderPdf({ title: 'Long', markdown: unit.repeat(20_000), createdAt: at })
    expect(pdf.length).toBeLessThanOrEqual(cut.length * 1.01)
  },
  60_000,
)

test('reports are rendered one after the other', async () => {
  const order: string[] = []
  const render = async (name: string, markdown: string) => {
    await renderPdf({ title: name, markdown, createdAt: at })
    order.push(name)
  }
  await Promise.all([render('long', '- entry\n'.repeat(2_000)), render('short', 'x')])
  expect(order).toEqual(['long', 'short'])
})

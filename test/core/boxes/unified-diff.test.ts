import fc from 'fast-check'
import { expect, test } from 'vitest'
import { unifiedDiff } from '../../../src/core/boxes/index.ts'

/** Applies hunks like `patch`. */
function patched(before: string, diff: string): string {
  const old = before.match(/[^\n]*\n|[^\n]+$/g) ?? []
  const result: string[] = []
  let at = 0
  for (const hunk of diff.split(/^(?=@@ )/m).slice(1)) {
    const [, start = '', length = ''] = /^@@ -(\d+),(\d+) /.exec(hunk) ?? []
    const first = Number(length) === 0 ? Number(start) : Number(start) - 1
    result.push(...old.slice(at, first))
    at = first
    const lines = hunk.split(/(?<=\n)/).slice(1)
    for (const [n, line] of lines.entries()) {
      if (line.startsWith('\\')) continue
      const text = lines[n + 1]?.startsWith('\\') ? line.slice(1, -1) : line.slice(1)
      if (line[0] !== '+') expect(old[at++]).toBe(text)
      if (line[0] !== '-') result.push(text)
    }
  }
  return [...result, ...old.slice(at)].join('')
}

test('has the format of diff -u', () => {
  const before = ['one', 'two', 'three', 'four', 'five', 'six', 'seven', ''].join('\n')
  expect(unifiedDiff('compose.yaml', before, before.replace('five', 'FIVE\nand'))).toBe(
    '--- a/compose.yaml\n+++ b/compose.yaml\n@@ -2,6 +2,7 @@\n two\n three\n four\n-five\n+FIVE\n+and\n six\n seven\n',
  )
  expect(unifiedDiff('a', null, 'new\n')).toBe('--- /dev/null\n+++ b/a\n@@ -0,0 +1,1 @@\n+new\n')
  expect(unifiedDiff('a', 'old', null)).toBe('--- a/a\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-old\n\\ No newline at end of file\n')
  expect(unifiedDiff('a', 'same\n', 'same\n')).toBe('')
})

const text = fc
  .array(fc.constantFrom('a', 'b', 'c', '', ' d'), { maxLength: 30 })
  .chain((lines) => fc.constantFrom(lines.join('\n'), `${lines.join('\n')}\n`))

test('applied to the old text it gives the new one', () => {
  fc.assert(
    fc.property(text, text, (before, after) => {
      const diff = unifiedDiff('x', before, after)
      expect(diff === '').toBe(before === after)
      expect(patched(before, diff)).toBe(after)
    }),
  )
})

test('very long texts without common lines are compared quickly', () => {
  const many = (word: string) => Array.from({ length: 5_000 }, (_, n) => `${word}${n}\n`).join('')
  const diff = unifiedDiff('x', many('a'), many('b'))
  expect(diff.split('\n').filter((line) => line.startsWith('-a'))).toHaveLength(5_000)
})

test('a new file of any length is one addition, with its missing line end', () => {
  const long = Array.from({ length: 5_000 }, (_, n) => `line ${n}`).join('\n')
  const diff = unifiedDiff('x', null, long)
  expect(diff).toContain('--- /dev/null\n+++ b/x\n@@ -0,0 +1,5000 @@\n+line 0\n')
  expect(diff.endsWith('+line 4999\n\\ No newline at end of file\n')).toBe(true)
  expect(patched('', diff)).toBe(long)
})

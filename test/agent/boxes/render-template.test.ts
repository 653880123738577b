import { expect, test } from 'vitest'
import { renderTemplates } from '../../../src/agent/boxes/render-box.ts'
import { installedVersion } from '../../../src/agent/boxes/report-versions.ts'

const template = (text: string) => new Map([['a.yaml', text]])

test('placeholders are filled, other braces stay', () => {
  expect(renderTemplates(template('a: "{{one}}" b: {"c":{"d":1}} $x'), { one: '1' }).get('a.yaml')).toBe('a: "1" b: {"c":{"d":1}} $x')
})

test('a value is never read as a pattern or a template', () => {
  expect(renderTemplates(template('{{one}}{{two}}'), { one: 'a&b', two: '\\1' }).get('a.yaml')).toBe('a&b\\1')
})

test.each([
  ['an unknown placeholder', '{{one}} {{nobody}}', { one: '1' }, 'CONFIG_INVALID'],
  ['a value without a place', '{{one}}', { one: '1', two: '2' }, 'CONFIG_INVALID'],
  ['logic', '{{#if one}}{{one}}', { one: '1' }, 'CONFIG_INVALID'],
  ['a name of every object', '{{constructor}}', {}, 'CONFIG_INVALID'],
  ['an empty value', '{{one}}', { one: '' }, 'VALIDATION'],
  ['a value with a quote', '{{one}}', { one: 'a"b' }, 'VALIDATION'],
  ['a value with a line end', '{{one}}', { one: 'a\nb' }, 'VALIDATION'],
  ['a value with a variable', '{{one}}', { one: '$b' }, 'VALIDATION'],
  ['a value that is a placeholder', '{{one}}', { one: '{{one}}' }, 'VALIDATION'],
])('%s is refused', (_, text, values, code) => {
  expect(() => renderTemplates(template(text), values as Record<string, string>)).toThrow(expect.objectContaining({ code }))
})

test.each([
  ['synapse', '1.163.2', 'r/synapse:v1.157.1', '1.163.2'],
  ['synapse', '1.163.0rc1 (b=develop)', undefined, '1.163.0rc1'],
  ['synapse', undefined, 'r/synapse:v1.157.1', '1.157.1'],
  ['synapse', undefined, 'r/synapse:latest', 'unknown'],
  ['synapse', undefined, undefined, 'unknown'],
  ['postgres', '15.18 (Debian 15.18-0+deb12u1)', 'r/postgres:15', '15.18'],
  ['postgres', undefined, 'r/postgres:15.14-alpine', '15.14'],
  ['minio', 'minio version RELEASE.2026-02-12T20-18-48Z (commit-id=7aac)', 'r/minio:x', 'RELEASE.2026-02-12T20-18-48Z'],
  ['minio', 'minio version DEVELOPMENT.GOGET', 'r/minio:RELEASE.2025-09-07T16-13-09Z.hotfix.a1', 'RELEASE.2025-09-07T16-13-09Z.hotfix.a1'],
] as const)('%s that says %j and runs %j is version %s', (service, said, image, version) => {
  expect(installedVersion(service, said, image)).toBe(version)
})

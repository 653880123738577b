import { plural } from '../../core/kit/index.ts'
import type { Finding } from '../../core/scan/index.ts'
import { type Column, clean, fields, type Style, sections, table } from '../kit/index.ts'

export type Checked = Readonly<{
  ok: boolean
  id: string
  version: string
  permissions: readonly string[]
  files: number
  bytes: number
  violations: readonly Finding[]
}>

/** Reads, validates and scans a module folder as the store would. Throws MODULE_INVALID and INCOMPATIBLE. */
export async function checkFolder(folder: string) {
  const { loadModule, readModuleFolder, scanPackage, zipOf } = await import('../../node/module-package/index.ts')
  const { assertCompatible } = await import('../../core/modules/index.ts')
  const files = await readModuleFolder(folder)
  const module = await loadModule(files)
  assertCompatible(module.manifest)
  const zip = await zipOf(files)
  const { ok, violations, bytes, checksum } = await scanPackage(zip)
  const { id, version, permissions } = module.manifest
  const checked: Checked = { ok, id, version, permissions, files: files.length, bytes, violations }
  return { checked, module, zip, checksum }
}

const placeOf = ({ file, line, column }: Finding) => [file, line, column].filter((part) => part !== undefined).join(':')

const columns: Column<Finding>[] = [
  { title: 'PLACE', value: placeOf, priority: 1 },
  { title: 'RULE', value: ({ rule }) => rule, priority: 2 },
  { title: 'MESSAGE', value: ({ message }) => clean(message), priority: 1 },
]

export function checkedView({ ok, id, version, permissions, files, bytes, violations }: Checked, style: Style): string {
  const { paint } = style
  return sections(
    fields(style, [
      ['module', `${id} ${version}`],
      ['files', `${files} (${bytes} bytes)`],
      ['permissions', permissions.join(', ') || 'none'],
      ['scan', ok ? paint.green('OK') : paint.red(plural(violations.length, 'finding'))],
    ]),
    ok ? undefined : table(style, columns, violations),
  )
}

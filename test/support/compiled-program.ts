import { execFileSync } from 'node:child_process'
import { mkdtempSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

let folder: string | undefined

/**
 * A file of the present sources as Node.js runs it, for worker threads and processes; the console is that of the last build. Compiled once per
 * worker, without declarations: they need the types of everything, which takes six times as long.
 */
export function compiled(path: string): string {
  folder ??= compile()
  return join(folder, path)
}

function compile(): string {
  const root = mkdtempSync(join(tmpdir(), 'tenantry-compiled-'))
  for (const name of ['config', 'node_modules', 'package.json', 'types']) symlinkSync(resolve(name), join(root, name))
  const flags = ['-p', 'tsconfig.build.json', '--noCheck', '--sourceMap', 'false', '--declaration', 'false', '--outDir', join(root, 'dist')]
  execFileSync('node_modules/.bin/tsc', flags)
  for (const page of ['dist/console', 'dist/school', 'dist/vendor']) symlinkSync(resolve(page), join(root, page))
  return join(root, 'dist')
}

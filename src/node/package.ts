import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

// Programs run from `src/` in tests and from `dist/` when built; package files are in the parent of both.
function findRoot(folder: string): string {
  return existsSync(join(folder, 'package.json')) ? folder : findRoot(dirname(folder))
}
const root = findRoot(import.meta.dirname)

/** The path of a file that the package carries, such as `config/manifest.yaml`. */
export const packageRoot = (...path: readonly string[]): string => join(root, ...path)

export const packageVersion = (): string => JSON.parse(readFileSync(packageRoot('package.json'), 'utf8')).version

/** Version and git commit of this build, such as `0.1.0+3f2a91c0d1e4`; `unknown` for programs that run from `src/`. */
export const buildVersion = (): string => `${packageVersion()}+${readCommit(join(import.meta.dirname, '../commit'))}`

/** The file that `scripts/stamp-commit.js` writes. */
const readCommit = (file: string): string => (existsSync(file) ? readFileSync(file, 'utf8').trim() : 'unknown')

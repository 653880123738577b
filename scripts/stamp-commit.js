// Writes the commit of this build into dist/commit, for `--version` and the log: TENANTRY_COMMIT, else git's, `-dirty` where files differ from it.
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'

function commitOfGit() {
  try {
    const args = ['describe', '--always', '--dirty', '--abbrev=12', '--exclude=*']
    return execFileSync('git', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
  } catch {
    return 'unknown'
  }
}

writeFileSync('dist/commit', `${process.env.TENANTRY_COMMIT || commitOfGit()}\n`)

import { mkdir, rm } from 'node:fs/promises'
import type { TestProject } from 'vitest/node'

/** The folder of all files written by a test run; it is deleted afterwards. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = project.config.env.TMPDIR as string
  await mkdir(folder, { recursive: true })
  return () => rm(folder, { recursive: true, force: true })
}

import { mkdir, rm } from 'node:fs/promises'
import type { TestProject } from 'vitest/node'

/** The folder below which all tests of a run write; nothing of it stays. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = project.config.env.TMPDIR as string
  await mkdir(folder, { recursive: true })
  return () => rm(folder, { recursive: true, force: true })
}

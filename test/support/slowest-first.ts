import { BaseSequencer, type TestSpecification } from 'vitest/node'

/**
 * Files that take minutes begin first, so that no worker runs one of them alone at the end: in a fresh clone nothing else knows their
 * durations. The others follow in the usual order. `slowest` are ends of paths.
 */
export const slowestFirst = (slowest: readonly string[]) =>
  class extends BaseSequencer {
    override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
      const place = ({ moduleId }: TestSpecification) => {
        const at = slowest.findIndex((end) => moduleId.endsWith(`/${end}`))
        return at < 0 ? slowest.length : at
      }
      return (await super.sort(files)).toSorted((a, b) => place(a) - place(b))
    }
  }

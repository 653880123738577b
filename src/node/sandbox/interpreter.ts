import variant from '@jitl/quickjs-wasmfile-release-sync'
import { newQuickJSWASMModuleFromVariant, newVariant, type QuickJSWASMModule } from 'quickjs-emscripten-core'

const pageBytes = 65_536

type MemoryType = Readonly<{ initial: number; maximum: number }>
type Memory = NonNullable<Awaited<Parameters<typeof newVariant>[1]['wasmMemory']>>

/** Types of Node.js have no WebAssembly. */
const { Memory: WasmMemory } = (globalThis as unknown as { WebAssembly: { Memory: new (type: MemoryType) => Memory } }).WebAssembly

/** An aborted interpreter is a result of the run, not a line of the log. */
const silent = { print: () => undefined, printErr: () => undefined }

/** `isShort`: the engine asked for memory past the limit since `reset`. */
export type Interpreter = Readonly<{ quickjs: QuickJSWASMModule; memory: Readonly<{ isShort: () => boolean; reset: () => void }> }>

/**
 * QuickJS with a memory that cannot grow past the limit. The limit that QuickJS has itself does not hold: allocations of the engine itself are
 * not counted.
 */
export async function loadInterpreter(memoryMb: number): Promise<Interpreter> {
  const wasmMemory = new WasmMemory({ initial: 256, maximum: Math.max(256, (memoryMb * 1_048_576) / pageBytes) })
  let isShort = false
  const grow = wasmMemory.grow.bind(wasmMemory)
  // The engine tries a smaller step after one that is refused: the last one counts.
  wasmMemory.grow = (pages: number) => {
    isShort = true
    const before = grow(pages)
    isShort = false
    return before
  }
  const quickjs = await newQuickJSWASMModuleFromVariant(newVariant(variant as never, { wasmMemory, emscriptenModule: silent } as never))
  const reset = () => {
    isShort = false
  }
  return { quickjs, memory: { isShort: () => isShort, reset } }
}

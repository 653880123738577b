// Shows where the time of a measurement goes: `TENANTRY_BENCH_STEPS=1 node bench/run.js snapshot-overhead` prints when each call of a port began and
// how long it took, since the start. The time between the calls is the agent's own. Measuring costs some microseconds a call, so the figures stay valid.
const isAsked = process.env.TENANTRY_BENCH_STEPS === '1'

let begunAt = performance.now()
let steps = []

/** Runs the work and prints the times of its steps if requested. */
export async function timeSteps(title, work) {
  begunAt = performance.now()
  steps = []
  await work()
  if (isAsked) print(title, performance.now() - begunAt)
}

/** Measures one step; the name is printed. */
export async function timeStep(name, work) {
  const from = performance.now()
  try {
    return await work()
  } finally {
    steps.push({ name, from: from - begunAt, took: performance.now() - from })
  }
}

/**
 * The same port with each call measured; `nameOf` names a call more precisely than its method.
 * @param {any} port
 * @param {(method: string, args: any[]) => string} [nameOf]
 */
export const timedPort = (port, nameOf = (method) => method) =>
  isAsked
    ? new Proxy(port, {
        get: (target, method) => {
          const call = target[method]
          return typeof call === 'function' ? (...args) => timeStep(nameOf(String(method), args), () => call.apply(target, args)) : call
        },
      })
    : port

function print(title, took) {
  console.log(`\n${title}: ${took.toFixed(0)} ms`)
  for (const step of steps.sort((a, b) => a.from - b.from)) console.log(`${ms(step.from)} +${ms(step.took)}  ${step.name}`)
}

const ms = (figure) => figure.toFixed(0).padStart(6)

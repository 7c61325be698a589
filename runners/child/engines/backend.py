"""The framework under Keras: set up before anything runs, and its facts afterwards."""

from __future__ import annotations

import json
import os
import platform
import resource
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, NoReturn

from planner.core import Text
from runners.child.engines import jax_distribution
from runners.launch import PLACE
from runners.plan.cases import OF_PROCESSES, PLACED, Case

if TYPE_CHECKING:
    import tensorflow as tf


def prepare(case: Case) -> float | None:
    """Set threads, memory growth, strategy, precision and seed; RuntimeError without the device.

    Returns how long the workers of a run took to join [s]; None without others. Call it before the
    first operation: thread pools cannot be changed later.
    """
    startup_s = None
    import keras

    if keras.config.backend() != case.backend:
        raise RuntimeError(
            Text(
                "Keras runs on {own}, not on {requested}",
                own=keras.config.backend(),
                requested=case.backend,
            )
        )
    if case.backend == "tensorflow":
        startup_s = _prepare_tensorflow(case)
    elif case.backend == "jax" and case.strategy != "none":
        startup_s = jax_distribution.prepare(case, place_on_host())
    kind = device_kind()
    if kind != case.device:
        raise RuntimeError(
            Text(
                "the case is for {device}, but {backend} sees only {kind} devices. Install "
                "{backend} for {device}, or plan the sweep for {kind}.",
                device=case.device,
                backend=case.backend,
                kind=kind,
            )
        )
    keras.config.set_dtype_policy(case.precision)
    keras.utils.set_random_seed(case.seed)
    return startup_s


def _prepare_tensorflow(case: Case) -> float | None:
    import tensorflow as tf

    if case.threads:
        tf.config.threading.set_intra_op_parallelism_threads(case.threads)
        together = case.devices if case.strategy in PLACED else min(2, case.threads)
        if case.strategy in PLACED and case.wait_s:  # waits hold a thread, not a core
            together *= case.micro_batches + 1
        tf.config.threading.set_inter_op_parallelism_threads(max(1, together))
    for gpu in tf.config.list_physical_devices("GPU"):
        tf.config.experimental.set_memory_growth(gpu, True)
    if case.strategy in PLACED:
        _devices(case)
    if case.strategy in {"none", *PLACED}:
        return None
    if case.strategy in OF_PROCESSES and case.device == "gpu":
        _take_own_gpu()
    began_s = time.perf_counter()
    make = {"mirrored": _mirrored, "multi-worker mirrored": _multi_worker, "tpu": _tpu}
    strategy = make.get(case.strategy, _parameter_server)(case)
    tf.distribute.experimental_set_strategy(strategy)
    return time.perf_counter() - began_s if case.strategy in OF_PROCESSES else None


def place_on_host() -> int:
    """Return the place of this worker among those of its host: hosts get workers in turn."""
    local = os.environ.get("SLURM_LOCALID")
    nodes = json.loads(os.environ.get(PLACE) or "{}").get("nodes", 1)
    return int(local) if local else task()[1] // nodes


def _take_own_gpu() -> None:
    """Let this process see one GPU, its own; the chief and the server see none.

    RuntimeError where the host has fewer GPUs than workers.
    """
    import tensorflow as tf

    gpus, kind, place = tf.config.list_physical_devices("GPU"), task()[0], place_on_host()
    if kind == "worker" and place >= len(gpus):
        raise RuntimeError(
            Text(
                "worker {number} of a host needs a GPU of its own; the host has {gpus}. Set "
                "devices to the number of GPUs.",
                number=place + 1,
                gpus=len(gpus),
            )
        )
    tf.config.set_visible_devices(gpus[place : place + 1] if kind == "worker" else [], "GPU")


def _multi_worker(case: Case) -> tf.distribute.Strategy:
    """Return the strategy over all workers in TF_CONFIG; it waits until all have joined."""
    import tensorflow as tf

    how = tf.distribute.experimental.CommunicationImplementation
    ring = how.RING if case.device == "cpu" else how.NCCL
    options = tf.distribute.experimental.CommunicationOptions(implementation=ring)
    return tf.distribute.MultiWorkerMirroredStrategy(communication_options=options)


def _tpu(case: Case) -> tf.distribute.Strategy:
    """Return the strategy over the cores of the TPU that TPU_NAME names, or of this machine.

    RuntimeError without a TPU, or without TensorFlow's wheel for TPUs. The authors
    have not tried it on a TPU, and the rows say so.
    """
    import tensorflow as tf

    try:
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver(
            tpu=os.environ.get("TPU_NAME") or "local"
        )
        tf.config.experimental_connect_to_cluster(resolver)
        tf.tpu.experimental.initialize_tpu_system(resolver)
        strategy = tf.distribute.TPUStrategy(resolver)
    except (tf.errors.OpError, ValueError, RuntimeError, ImportError) as error:
        raise RuntimeError(
            Text(
                "TensorFlow {version} cannot use a TPU here ({error}). On a machine with "
                "a TPU install requirements/tpu.txt, or set backend = jax.",
                version=tf.__version__,
                error=type(error).__name__,
            )
        ) from error
    if strategy.num_replicas_in_sync != case.devices:
        raise RuntimeError(
            Text(
                "the case is for {devices} TPU devices, but TensorFlow sees "
                "{visible}. Set devices to that number.",
                devices=case.devices,
                visible=strategy.num_replicas_in_sync,
            )
        )
    return strategy


def _parameter_server(_case: Case) -> tf.distribute.Strategy:
    """Return the strategy of the chief; it connects to the server and the workers."""
    import tensorflow as tf

    cluster = tf.distribute.cluster_resolver.TFConfigClusterResolver(rpc_layer="grpc")
    return tf.distribute.ParameterServerStrategy(cluster)


def serve() -> NoReturn:
    """Be a worker or the server of an asynchronous run until the launcher ends this process."""
    import tensorflow as tf

    cluster = tf.distribute.cluster_resolver.TFConfigClusterResolver(rpc_layer="grpc")
    kind, index = task()
    tf.distribute.Server(
        cluster.cluster_spec(), job_name=kind, task_index=index, protocol="grpc", start=True
    ).join()
    raise RuntimeError("the server has ended")


def task() -> tuple[str, int]:
    """Return the kind and place of this process among those of a run."""
    text = os.environ.get("TF_CONFIG")
    if not text:
        return "worker", 0
    own = json.loads(text)["task"]
    return str(own["type"]), int(own["index"])


def end_distribution(case: Case) -> Callable[[], None]:
    """Return to one device: what follows is not of the measured run.

    Returns what every worker calls at its end. It waits for all of them, because a worker that
    ends takes the operations of the others with it.
    """
    if case.backend == "jax":
        return jax_distribution.end(case)
    import tensorflow as tf

    strategy = tf.distribute.get_strategy()
    tf.distribute.experimental_set_strategy(None)
    if case.strategy != "multi-worker mirrored":
        return lambda: None

    @tf.function  # type: ignore[untyped-decorator]
    def meet() -> Any:  # noqa: ANN401 - a tensor
        return strategy.run(_sum_of_ones)

    def leave() -> None:
        float(meet())

    return leave


def _sum_of_ones() -> Any:  # noqa: ANN401 - a tensor
    import tensorflow as tf

    return tf.distribute.get_replica_context().all_reduce("SUM", tf.constant(1.0))


def is_peer_lost(error: Exception) -> bool:
    """Return whether a run of several workers ended since another one is gone."""
    if "TF_CONFIG" not in os.environ:
        return False
    if "jax" in sys.modules:  # its errors have one type: the text names the transport
        return any(sign in str(error) for sign in ("Gloo", "peer", "Socket", "heartbeat"))
    import tensorflow as tf

    gone = (tf.errors.UnavailableError, tf.errors.AbortedError, tf.errors.CancelledError)
    return isinstance(error, gone)


def _mirrored(case: Case) -> tf.distribute.MirroredStrategy:
    """Return the strategy over the first devices; RuntimeError where there are fewer."""
    import tensorflow as tf

    return tf.distribute.MirroredStrategy(_devices(case))


def _devices(case: Case) -> list[str]:
    """Return the names of the first devices; RuntimeError where there are fewer.

    On a CPU they are logical ones, which share its cores.
    """
    import tensorflow as tf

    kind = case.device.upper()
    if case.device == "cpu":
        parts = [tf.config.LogicalDeviceConfiguration()] * case.devices
        tf.config.set_logical_device_configuration(tf.config.list_physical_devices(kind)[0], parts)
    devices = tf.config.list_logical_devices(kind)
    if len(devices) < case.devices:
        raise RuntimeError(
            Text(
                "the case is for {devices} {kind} devices, but TensorFlow sees {visible}. Plan "
                "the sweep for fewer.",
                devices=case.devices,
                kind=kind,
                visible=len(devices),
            )
        )
    return [device.name for device in devices[: case.devices]]


def place_to_build(case: Case) -> AbstractContextManager[Any]:
    """Return where the first weights are made: a split network must fit on no single device."""
    if case.strategy not in PLACED:
        return nullcontext()
    import tensorflow as tf

    place: AbstractContextManager[Any] = tf.device("/CPU:0")
    return place


def device_kind() -> str:
    """Return the kind of device that the framework uses: cpu, gpu or tpu."""
    import keras

    name = keras.config.backend()
    if name == "jax":
        import jax

        return str(jax.default_backend()).replace("cuda", "gpu").replace("rocm", "gpu")
    if name == "torch":
        import torch

        return "gpu" if torch.cuda.is_available() else "cpu"
    import tensorflow as tf

    kinds = {d.device_type for d in tf.config.list_physical_devices()}
    if isinstance(tf.distribute.get_strategy(), tf.distribute.TPUStrategy):
        return "tpu"  # of another machine, perhaps
    return next((k.lower() for k in ("TPU", "GPU") if k in kinds), "cpu")


def facts() -> dict[str, Any]:
    """Return the columns from the imported framework: versions, CUDA, cuDNN, device."""
    import keras

    columns = {
        "backend": keras.config.backend(),
        "keras_version": keras.__version__,
        "python_version": platform.python_version(),
    }
    return columns | {"tensorflow": _tensorflow, "jax": _jax, "torch": _torch}[columns["backend"]]()


def _tensorflow() -> dict[str, Any]:
    import tensorflow as tf

    build = tf.sysconfig.get_build_info()
    columns: dict[str, Any] = {"framework": "TensorFlow", "framework_version": tf.__version__}
    if gpus := tf.config.list_physical_devices("GPU"):
        details = tf.config.experimental.get_device_details(gpus[0])
        columns["accelerator_model_name"] = details.get("device_name")
        columns["cuda_version"] = build.get("cuda_version")
        columns["cudnn_version"] = build.get("cudnn_version")
    return columns


def _jax() -> dict[str, Any]:
    import jax

    columns: dict[str, Any] = {"framework": "JAX", "framework_version": jax.__version__}
    device = jax.devices()[0]
    if device.platform != "cpu":
        columns["accelerator_model_name"] = device.device_kind
        columns |= _jax_cuda()
    return columns


def _jax_cuda() -> dict[str, Any]:
    """Return jaxlib's CUDA and cuDNN versions; empty if its private module lacks them."""
    try:
        from jax._src.lib import cuda_versions

        cuda, cudnn = cuda_versions.cuda_runtime_get_version(), cuda_versions.cudnn_get_version()
    except (ImportError, AttributeError, RuntimeError):
        return {}
    return {
        "cuda_version": f"{cuda // 1000}.{cuda % 1000 // 10}",
        "cudnn_version": f"{cudnn // 10000}.{cudnn % 10000 // 100}.{cudnn % 100}",
    }


def _torch() -> dict[str, Any]:
    import torch

    columns: dict[str, Any] = {"framework": "PyTorch", "framework_version": torch.__version__}
    if torch.cuda.is_available():
        columns["accelerator_model_name"] = torch.cuda.get_device_name(0)
        columns["cuda_version"] = torch.version.cuda
        columns["cudnn_version"] = str(torch.backends.cudnn.version())
    return columns


def threads_default(case: Case) -> dict[str, int]:
    """Return the framework's default thread count, if the case sets none, as entry of `extra`.

    Empty for JAX, which does not report it. TensorFlow's 0 means all cores that this process may
    use; it ignores a control group's quota.
    """
    import keras

    if case.threads is not None or keras.config.backend() == "jax":
        return {}
    if keras.config.backend() == "torch":
        import torch

        return {"threads_default": torch.get_num_threads()}
    import tensorflow as tf

    threads = tf.config.threading.get_intra_op_parallelism_threads()
    return {"threads_default": threads or _schedulable_cores()}


def _schedulable_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def peak_memory() -> tuple[int | None, str]:
    """Return the peak memory so far [bytes], and its source."""
    import keras

    if device_kind() == "cpu":
        # Linux counts kilobytes, macOS bytes.
        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit, "resident memory"
    if keras.config.backend() == "jax":
        import jax

        peak = (jax.devices()[0].memory_stats() or {}).get("peak_bytes_in_use")
        return peak, "device memory by JAX's allocator"
    if keras.config.backend() == "tensorflow":
        import tensorflow as tf

        peak = tf.config.experimental.get_memory_info(f"{device_kind().upper()}:0")["peak"]
        return peak, "device memory by TensorFlow's allocator"
    import torch

    return torch.cuda.max_memory_allocated(), "device memory by PyTorch's allocator"


def wait(value: Any) -> Any:  # noqa: ANN401 - the return value of a step
    """Return `value` once all its numbers are computed."""
    import keras

    if keras.config.backend() == "jax":
        import jax

        return jax.block_until_ready(value)
    for leaf in keras.tree.flatten(value):  # Keras's own converter fails on bfloat16 scalars
        if hasattr(leaf, "numpy"):
            (leaf.detach().cpu() if hasattr(leaf, "detach") else leaf).numpy()
    return value


def settle(model: Any) -> None:  # noqa: ANN401 - a keras.Model
    """Wait until every queued training step has ended on the device.

    TensorFlow's `fit` waits for every step already; JAX and PyTorch work ahead.
    """
    import keras

    if keras.config.backend() == "jax":
        import jax

        jax.block_until_ready([v.value for v in model.trainable_variables])
    elif keras.config.backend() == "torch" and device_kind() == "gpu":
        import torch

        torch.cuda.synchronize()


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether the error is the framework's lack of memory."""
    text = f"{type(error).__name__}: {error}"
    signs = ("ResourceExhausted", "RESOURCE_EXHAUSTED", "MemoryError", "OutOfMemory",
             "out of memory", "OOM when allocating", "bad_alloc", "Unable to allocate",
             "Failed to allocate memory", "CUBLAS_STATUS_ALLOC_FAILED",
             "could not execute a primitive")  # fmt: skip
    return isinstance(error, MemoryError) or any(sign in text for sign in signs)

# What onnx-mem is made with, from where, and the SHA-256 of each source package. The release build and the wheel take
# the system's libraries and build ONNX alone, which no distribution has new enough; WebAssembly is built from all of
# these. Header-only CLI11 and nlohmann-json are the system's everywhere.
#   debian: a source package of the release that this machine runs     pypi: Python's package index
set(ONNX_MINIMUM_VERSION 1.18)
set(ONNX_PACKAGE_VERSION 1.23.2)
set(ONNX_PACKAGE_FILE onnx-1.23.2.tar.gz)
set(ONNX_PACKAGE_SHA256 008cb0467b2bbee41448acc7da8b6f4e704624cb0d327a2d5adafc7ce19bc5b8)
set(ONNX_PACKAGE_FROM pypi)

set(protobuf_PACKAGE_VERSION 3.21.12)
set(protobuf_PACKAGE_FILE protobuf_3.21.12.orig.tar.gz)
set(protobuf_PACKAGE_SHA256 930c2c3b5ecc6c9c12615cf5ad93f1cd6e12d0aba862b572e076259970ac3a53)
set(protobuf_PACKAGE_FROM debian)

set(abseil_PACKAGE_VERSION 20220623.1)
set(abseil_PACKAGE_FILE abseil_20220623.1.orig.tar.gz)
set(abseil_PACKAGE_SHA256 abfe2897f3a30edaa74bc34365afe3c2a3cd012091a97dc7e008f7016adcd5fe)
set(abseil_PACKAGE_FROM debian)

set(zlib_PACKAGE_VERSION 1.2.13)
set(zlib_PACKAGE_FILE zlib_1.2.13.dfsg.orig.tar.bz2)
set(zlib_PACKAGE_SHA256 71feb7947e3c00ef125f83b79a4e529bde31171e5babe48b391f06758d1ab0a1)
set(zlib_PACKAGE_FROM debian)

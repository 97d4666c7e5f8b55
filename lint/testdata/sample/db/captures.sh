#!/bin/sh
postbus capture add scripted --type shop.scripted
